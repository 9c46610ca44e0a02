#include "recording/merge.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "recording/intern_table.h"
#include "recording/writer.h"

namespace sampan::recording {
namespace {

constexpr size_t kRowsPerBlock = 1 << 17;

uint64_t duration_ns(const Recording& recording) {
  if (recording.end) return recording.end->time_ns;
  uint64_t last_ns = 0;
  for (const Sample& sample : recording.samples) last_ns = std::max(last_ns, sample.time_ns);
  return last_ns;
}

struct PairHash {
  size_t operator()(const std::pair<uint64_t, uint64_t>& pair) const {
    return mix_bits(pair.first * 0x9e3779b97f4a7c15 + pair.second);
  }
};

// `rows` with equal ones once; where a row of an input is in them, by its index there.
template <typename Row, typename Key, typename Map>
class Table {
 public:
  Table(std::vector<Row>* rows, Key key) : rows_(rows), key_(std::move(key)) {}

  uint32_t add(const Row& row) {
    const auto next = static_cast<uint32_t>(rows_->size());
    const auto [place, is_new] = known_.try_emplace(key_(row), next);
    if (is_new) rows_->push_back(row);
    return place->second;
  }

 private:
  std::vector<Row>* rows_;
  Key key_;
  Map known_;
};

using Integers = std::unordered_map<std::pair<uint64_t, uint64_t>, uint32_t, PairHash>;
template <typename First>
using Texts = std::map<std::pair<std::string, First>, uint32_t>;

auto module_key(const Module& row) {
  return std::pair(row.path, row.build_id);
}
auto frame_key(const Frame& row) {
  return std::pair<uint64_t, uint64_t>(row.module, row.address);
}
auto stack_key(const Stack& row) {
  return std::pair<uint64_t, uint64_t>(row.prefix, row.frame);
}
auto wait_key(const Wait& row) {
  return std::pair(row.call, row.object);
}

uint32_t shifted(uint32_t index, size_t by) {
  return index == kNone ? kNone : index + static_cast<uint32_t>(by);
}
uint32_t mapped(uint32_t index, const std::vector<uint32_t>& to) {
  return index == kNone ? kNone : to[index];
}

class Merger {
 public:
  void add(const MergeInput& input, uint64_t later_ns) {
    const Recording& from = input.recording;
    add_origins(input);
    const size_t processes = merged_.processes.size(), threads = merged_.threads.size();
    for (Process row : from.processes) {
      row.start_ns += later_ns;
      merged_.processes.push_back(std::move(row));
    }
    for (ProcessEnd row : from.process_ends) {
      row.process = shifted(row.process, processes);
      row.time_ns += later_ns;
      merged_.process_ends.push_back(row);
    }
    add_losses(from, processes);
    for (Thread row : from.threads) {
      row.process = shifted(row.process, processes);
      row.start_ns += later_ns;
      merged_.threads.push_back(std::move(row));
    }
    for (ThreadName row : from.thread_names) {
      row.thread = shifted(row.thread, threads);
      row.time_ns += later_ns;
      merged_.thread_names.push_back(std::move(row));
    }
    for (ThreadEnd row : from.thread_ends) {
      row.thread = shifted(row.thread, threads);
      row.time_ns += later_ns;
      merged_.thread_ends.push_back(row);
    }
    add_samples(from, threads, later_ns);
  }

  Recording finish() {
    if (losses_of_nobody_) merged_.losses.push_back(*losses_of_nobody_);
    return std::move(merged_);
  }

 private:
  void add_origins(const MergeInput& input) {
    const Recording& from = input.recording;
    if (from.origins.empty()) {
      merged_.origins.push_back({input.label, from.session.host, from.session.program,
                                 from.session.start_unix_ns, from.processes.size()});
      return;
    }
    size_t left = from.processes.size();  // a damaged recording may have fewer than it says
    for (Origin origin : from.origins) {
      origin.label = input.label + "/" + origin.label;
      origin.processes = std::min<uint64_t>(origin.processes, left);
      left -= origin.processes;
      merged_.origins.push_back(std::move(origin));
    }
    merged_.origins.back().processes += left;
  }

  // Counters only grow, so the last row of a process counts, and the last one of none.
  void add_losses(const Recording& from, size_t processes) {
    const Losses* of_nobody = nullptr;
    for (Losses row : from.losses) {
      if (row.process == kNone) continue;
      row.process = shifted(row.process, processes);
      merged_.losses.push_back(row);
    }
    for (const Losses& row : from.losses) of_nobody = row.process == kNone ? &row : of_nobody;
    if (of_nobody == nullptr) return;
    if (!losses_of_nobody_) losses_of_nobody_.emplace();
    for (size_t i = 0; i < wire::kLossCount; ++i) {
      losses_of_nobody_->count[i] += of_nobody->count[i];
    }
  }

  void add_samples(const Recording& from, size_t threads, uint64_t later_ns) {
    std::vector<uint32_t> modules, frames, stacks, waits;
    for (const Module& row : from.modules) modules.push_back(modules_.add(row));
    for (const Frame& row : from.frames) {
      frames.push_back(frames_.add({mapped(row.module, modules), row.address}));
    }
    for (const Stack& row : from.stacks) {
      stacks.push_back(stacks_.add({mapped(row.prefix, stacks), frames[row.frame]}));
    }
    for (const Wait& row : from.waits) waits.push_back(waits_.add(row));
    for (Sample row : from.samples) {
      row.thread = shifted(row.thread, threads);
      row.stack = mapped(row.stack, stacks);
      row.wait = mapped(row.wait, waits);
      row.time_ns += later_ns;
      merged_.samples.push_back(row);
    }
  }

  Recording merged_;
  std::optional<Losses> losses_of_nobody_;
  Table<Module, decltype(&module_key), Texts<std::vector<uint8_t>>> modules_{&merged_.modules,
                                                                             module_key};
  Table<Frame, decltype(&frame_key), Integers> frames_{&merged_.frames, frame_key};
  Table<Stack, decltype(&stack_key), Integers> stacks_{&merged_.stacks, stack_key};
  Table<Wait, decltype(&wait_key), Texts<std::string>> waits_{&merged_.waits, wait_key};
};

// What they have in common; of what differs, the first's, or what covers them all.
Session common_session(std::span<const MergeInput> inputs) {
  Session session = inputs.front().recording.session;
  const auto keep_common = [&](auto member, auto other) {
    for (const MergeInput& input : inputs) {
      if (input.recording.session.*member != inputs.front().recording.session.*member) {
        session.*member = other;
      }
    }
  };
  keep_common(&Session::program, std::string("merged"));
  keep_common(&Session::command, std::vector<std::string>{"merged recordings"});
  keep_common(&Session::host, std::string("several"));
  keep_common(&Session::kernel, std::string("several"));
  keep_common(&Session::engine, std::string("several"));
  for (const MergeInput& input : inputs) {
    const Session& other = input.recording.session;
    session.start_unix_ns = std::min(session.start_unix_ns, other.start_unix_ns);
    session.rate_hz = std::max(session.rate_hz, other.rate_hz);
    session.kernel_hz = std::max(session.kernel_hz, other.kernel_hz);
    if (other.clock == "wall") session.clock = "wall";
  }
  return session;
}

void add_note(const std::string& label, const std::string& text, std::string* note) {
  *note += (note->empty() ? "" : "; ") + label + ": " + text;
}

// Ends with the last of them; the status is the first that is not 0.
void add_end(const MergeInput& input, uint64_t later_ns, SessionEnd* end) {
  const Recording& from = input.recording;
  end->time_ns = std::max(end->time_ns, duration_ns(from) + later_ns);
  for (const std::string& damage : from.damage) {
    add_note(input.label, "damaged recording: " + damage, &end->note);
  }
  if (!from.end) {
    add_note(input.label, "the recording ends early", &end->note);
    return;
  }
  if (end->exit_status.value_or(0) == 0 && !end->exit_signal) {
    end->exit_status = from.end->exit_status;
    end->exit_signal = from.end->exit_signal;
  }
  end->user_cpu_ns += from.end->user_cpu_ns;
  end->system_cpu_ns += from.end->system_cpu_ns;
  if (!from.end->note.empty()) add_note(input.label, from.end->note, &end->note);
}

// Rows in the writer's order may have other indexes: it forgets stacks when there are very many.
void add_rows(const Recording& from, Writer* writer, const std::function<void()>& check) {
  std::vector<uint32_t> frames, stacks;
  size_t rows = 0;
  const auto flush_sometimes = [&] {
    if (++rows % kRowsPerBlock != 0) return;
    writer->flush();
    check();
  };
  for (const Process& row : from.processes) writer->add(row);
  for (const ProcessEnd& row : from.process_ends) writer->add(row);
  for (const Thread& row : from.threads) writer->add(row);
  for (const ThreadName& row : from.thread_names) writer->add(row);
  for (const ThreadEnd& row : from.thread_ends) writer->add(row);
  for (const Losses& row : from.losses) writer->add(row);
  for (const Module& row : from.modules) writer->add(row);
  for (const Frame& row : from.frames) {
    frames.push_back(writer->frame(row));
    flush_sometimes();
  }
  for (const Stack& row : from.stacks) {
    stacks.push_back(writer->stack(mapped(row.prefix, stacks), frames[row.frame]));
    flush_sometimes();
  }
  std::vector<uint32_t> waits;
  for (const Wait& row : from.waits) waits.push_back(writer->wait(row));
  for (Sample row : from.samples) {
    row.stack = mapped(row.stack, stacks);
    row.wait = mapped(row.wait, waits);
    writer->add(row);
    flush_sometimes();
  }
}

}  // namespace

Align usual_alignment(std::span<const MergeInput> inputs) {
  uint64_t last_start_ns = 0, first_end_ns = UINT64_MAX;
  for (const MergeInput& input : inputs) {
    const uint64_t start_ns = input.recording.session.start_unix_ns;
    last_start_ns = std::max(last_start_ns, start_ns);
    first_end_ns = std::min(first_end_ns, start_ns + duration_ns(input.recording));
  }
  return last_start_ns < first_end_ns ? Align::kClock : Align::kStart;
}

Recording merge(std::vector<MergeInput> inputs, Align align) {
  if (inputs.empty()) throw Error("there is no recording to merge");
  const Session session = common_session(inputs);
  SessionEnd end;
  Merger merger;
  for (MergeInput& input : inputs) {
    const uint64_t later_ns =
        align == Align::kClock ? input.recording.session.start_unix_ns - session.start_unix_ns : 0;
    merger.add(input, later_ns);
    add_end(input, later_ns, &end);
    input.recording = {};  // they may be many
  }
  Recording merged = merger.finish();
  merged.session = session;
  merged.end = std::move(end);
  return merged;
}

void write(const Recording& recording, const std::string& path,
           const std::function<bool()>& stopped) {
  const std::string temporary = path + ".part";
  const auto check = [&] {
    if (stopped()) throw Error("writing {}: interrupted, nothing of it is left", path);
  };
  try {
    if (::access(path.c_str(), F_OK) == 0) throw Error("creating {}: it exists", path);
    Writer writer(temporary, recording.session, recording.origins);
    add_rows(recording, &writer, check);
    writer.finish(recording.end.value_or(SessionEnd{}));
    check();
    if (std::rename(temporary.c_str(), path.c_str()) != 0) {
      throw Error("creating {}: {}", path, std::strerror(errno));
    }
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
}

}  // namespace sampan::recording

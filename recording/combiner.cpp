#include "recording/combiner.h"

#include <algorithm>
#include <utility>

namespace sampan::recording {
namespace {

// The keys since the first `taken` ones, which it is then the number of.
template <typename Key>
std::vector<Key> new_keys(const Interner<Key>& interner, uint64_t* taken) {
  const std::vector<Key>& keys = interner.keys();
  std::vector<Key> rows(keys.begin() + static_cast<ptrdiff_t>(*taken), keys.end());
  *taken = keys.size();
  return rows;
}

}  // namespace

uint32_t Combiner::add(Process row) {
  combined_.processes.push_back(std::move(row));
  return static_cast<uint32_t>(taken_.processes + combined_.processes.size() - 1);
}

uint32_t Combiner::add(Thread row) {
  combined_.threads.push_back(std::move(row));
  return static_cast<uint32_t>(taken_.threads + combined_.threads.size() - 1);
}

void Combiner::add_rows(const Recording& from, const Places& places, uint64_t later_ns) {
  add_lives(from, places, later_ns);
  const Code code = add_code(from);
  add_samples(from, places, code, later_ns);
  add_blocks(from, places, code, later_ns);
  add_locks(from, places, code, later_ns);
  add_jit_names(from, code.frames, places, later_ns);
  add_names(from, code.frames, code.modules);
  add_markers(from.markers, places, later_ns);
}

Recording Combiner::take() {
  Recording all = take_new();
  all.names = std::move(combined_.names);
  return all;
}

Recording Combiner::take_new() {
  Names names = std::move(combined_.names);
  Recording part = std::exchange(combined_, {});
  combined_.names = std::move(names);
  taken_.processes += part.processes.size();
  taken_.threads += part.threads.size();
  part.modules = new_keys(modules_, &taken_.modules);
  part.frames = new_keys(frames_, &taken_.frames);
  part.stacks = new_keys(stacks_, &taken_.stacks);
  part.waits = new_keys(waits_, &taken_.waits);
  part.locks = new_keys(locks_, &taken_.locks);
  part.contexts = contexts_.take();
  part.markers.texts = std::exchange(texts_, {}).take();
  return part;
}

void Combiner::add_lives(const Recording& from, const Places& places, uint64_t later_ns) {
  for (ProcessEnd row : from.process_ends) {
    row.process = places.processes[row.process];
    row.time_ns += later_ns;
    if (row.process != kNone) combined_.process_ends.push_back(row);
  }
  for (ThreadName row : from.thread_names) {
    row.thread = places.threads[row.thread];
    row.time_ns += later_ns;
    if (row.thread != kNone) combined_.thread_names.push_back(std::move(row));
  }
  for (ThreadEnd row : from.thread_ends) {
    row.thread = places.threads[row.thread];
    row.time_ns += later_ns;
    if (row.thread != kNone) combined_.thread_ends.push_back(row);
  }
}

Combiner::Code Combiner::add_code(const Recording& from) {
  Code code;
  for (const Module& row : from.modules) code.modules.push_back(modules_.intern(row).handle);
  for (const Frame& row : from.frames) {
    const Frame frame{mapped(row.module, code.modules), row.address};
    code.frames.push_back(frames_.intern(frame).handle);
  }
  for (const Stack& row : from.stacks) {
    const Stack stack{mapped(row.prefix, code.stacks), code.frames[row.frame]};
    code.stacks.push_back(stacks_.intern(stack).handle);
  }
  return code;
}

void Combiner::add_samples(const Recording& from, const Places& places, const Code& code,
                           uint64_t later_ns) {
  std::vector<uint32_t> waits;
  for (const Wait& row : from.waits) waits.push_back(waits_.intern(row).handle);
  for (Sample row : from.samples) {
    row.thread = places.threads[row.thread];
    row.stack = mapped(row.stack, code.stacks);
    row.wait = mapped(row.wait, waits);
    row.time_ns += later_ns;
    if (row.thread == kNone) continue;
    if (row.context != kNone) row.context = contexts_.intern(from.contexts[row.context]).handle;
    combined_.samples.push_back(row);
  }
}

void Combiner::add_blocks(const Recording& from, const Places& places, const Code& code,
                          uint64_t later_ns) {
  const auto add_draws = [&](auto table) {
    for (auto row : from.*table) {
      row.thread = places.threads[row.thread];
      row.stack = mapped(row.stack, code.stacks);
      row.time_ns += later_ns;
      if (row.thread != kNone) (combined_.*table).push_back(row);
    }
  };
  add_draws(&Recording::allocations);
  add_draws(&Recording::frees);
  for (WatchChange row : from.watch_changes) {
    row.process = places.processes[row.process];
    row.time_ns += later_ns;
    if (row.process != kNone) combined_.watch_changes.push_back(row);
  }
}

void Combiner::add_locks(const Recording& from, const Places& places, const Code& code,
                         uint64_t later_ns) {
  std::vector<uint32_t> locks;
  for (Lock row : from.locks) {
    row.process = places.processes[row.process];
    row.frame = mapped(row.frame, code.frames);
    row.origin = mapped(row.origin, code.frames);
    locks.push_back(row.process == kNone ? kNone : locks_.intern(row).handle);
  }
  for (LockWait row : from.lock_waits) {
    row.thread = places.threads[row.thread];
    row.lock = locks[row.lock];
    if (row.thread == kNone || row.lock == kNone) continue;
    row.holder = mapped(row.holder, places.threads);
    row.waker = mapped(row.waker, places.threads);
    for (uint32_t* stack : {&row.stack, &row.holder_stack, &row.waker_stack}) {
      *stack = mapped(*stack, code.stacks);
    }
    row.begin_ns += later_ns;
    if (row.woken_ns != 0) row.woken_ns += later_ns;
    combined_.lock_waits.push_back(row);
  }
}

void Combiner::add_jit_names(const Recording& from, const std::vector<uint32_t>& frames,
                             const Places& places, uint64_t later_ns) {
  if (from.names.jit.empty()) return;
  Names names;
  names.texts = from.names.texts;
  for (JitName row : from.names.jit) {
    if (row.process >= places.processes.size()) continue;
    row.process = places.processes[row.process];
    row.from_ns += later_ns;
    if (row.process != kNone) names.jit.push_back(row);
  }
  if (!names.jit.empty()) join(renumbered(std::move(names), frames, {}), &combined_.names);
}

// Frames of generated code are left out: another process has other code at that address. Those of an
// interpreter are at addresses that their names make.
void Combiner::add_names(const Recording& from, std::vector<uint32_t> frames,
                         const std::vector<uint32_t>& modules) {
  named_.resize(frames_.size());
  for (uint32_t& frame : frames) {
    const Frame& row = frames_[frame];
    const bool is_generated = row.module == kNone && !wire::is_python_frame(row.address);
    if (is_generated || named_[frame]) frame = kNone;
  }
  if (std::ranges::none_of(from.names.frames, [&](const FrameNames& row) {
        return row.frame < frames.size() && frames[row.frame] != kNone;
      })) {
    return;  // ranks of a job mostly have the same
  }
  const size_t first = combined_.names.frames.size();
  join(needed(renumbered(from.names, frames, modules)), &combined_.names);
  for (size_t i = first; i < combined_.names.frames.size(); ++i) {
    named_[combined_.names.frames[i].frame] = true;
  }
}

void Combiner::add_markers(const Markers& from, const Places& places, uint64_t later_ns) {
  std::vector<uint32_t> texts;
  for (const std::string& text : from.texts) texts.push_back(texts_.handle(text));
  for_each_table(kMarkerTables, [&](auto table) {
    for (const auto& each : from.*table) {
      auto row = with_texts(each, [&](uint32_t index) { return texts[index]; });
      if constexpr (requires { row.time_ns; }) row.time_ns += later_ns;
      if constexpr (requires { row.begin_ns; }) row.begin_ns += later_ns;
      if constexpr (requires { row.end_ns; }) row.end_ns += later_ns;
      if constexpr (requires { row.process; }) {
        row.process = places.processes[row.process];
        if (row.process == kNone) continue;
      }
      if constexpr (requires { row.thread; }) {
        const bool of_thread = row.thread != kNone;
        row.thread = mapped(row.thread, places.threads);
        if (of_thread && row.thread == kNone) continue;
      }
      if constexpr (requires { row.end_thread; }) {
        row.end_thread = places.threads[row.end_thread];
        if (row.end_thread == kNone) row.end_thread = row.thread;
      }
      (combined_.markers.*table).push_back(row);
    }
  });
}

}  // namespace sampan::recording

#include "remote/live/dump.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <memory>
#include <unordered_map>

#include "base/error.h"
#include "base/nearest.h"
#include "base/text/json_writer.h"
#include "base/text/readable.h"
#include "profile/frames.h"
#include "profile/load.h"
#include "recording/names.h"
#include "recording/reader.h"
#include "sampler/process/module_map.h"
#include "sampler/recorder/python_code.h"
#include "symbolizer/symbolizer.h"
#include "wire/record.h"

namespace sampan::live {
namespace {

bool is_called(const std::string& word, pid_t tid, const std::string& name) {
  return word == name || word == std::to_string(tid);
}

// Throws if a word matches no thread.
void check_threads(const std::vector<std::string>& words, const sampler::Snapshot& snapshot) {
  for (const std::string& word : words) {
    std::vector<std::string> known;
    bool found = false;
    for (const sampler::ThreadSnapshot& thread : snapshot.threads) {
      found = found || is_called(word, thread.tid, thread.name);
      known.push_back(thread.name);
      known.push_back(std::to_string(thread.tid));
    }
    if (!found) throw Error("no thread is called '{}'{}", word, did_you_mean(word, known));
  }
}

// A recording with one sample of each thread.
class SnapshotRecording {
 public:
  explicit SnapshotRecording(const sampler::Snapshot& snapshot)
      : python_(snapshot.python), code_names_(snapshot.code_names) {
    for (const sampler::ModuleLoadRecord& load : snapshot.modules) {
      modules_.load(load, static_cast<uint32_t>(recording_.modules.size()));
      recording_.modules.push_back({load.path, load.build_id, svma_of(load.start_avma, load.bias),
                                    svma_of(load.end_avma, load.bias)});
    }
    recording_.processes.emplace_back();
    for (const sampler::ThreadSnapshot& thread : snapshot.threads) add(thread);
  }

  recording::Recording take() { return std::move(recording_); }
  // By row of a frame.
  std::vector<uint64_t> take_avmas() { return std::move(avmas_); }

 private:
  void add(const sampler::ThreadSnapshot& thread) {
    recording::Sample sample;
    sample.thread = static_cast<uint32_t>(recording_.threads.size());
    for (size_t i = thread.frames.size(); i-- > 0;) {
      recording_.stacks.push_back({sample.stack, frame_row(thread.frames[i])});
      sample.stack = static_cast<uint32_t>(recording_.stacks.size() - 1);
    }
    recording_.threads.push_back({0, thread.tid, 0, thread.name});
    recording_.samples.push_back(sample);
  }

  uint32_t frame_row(uint64_t frame) {
    const auto next = static_cast<uint32_t>(recording_.frames.size());
    const auto [row, is_new] = rows_.try_emplace(frame, next);
    if (!is_new) return row->second;
    const bool is_python = wire::is_python_frame(frame);
    avmas_.push_back(is_python ? 0 : frame);
    if (is_python) {
      const recording::FrameName name =
          python_.knows(frame) ? python_.name(frame) : recording::FrameName{"[python]", "", 0, 0};
      recording_.frames.push_back(sampler::python_frame_row(name));
      recording::add_name(next, name, &recording_.names);
    } else {
      recording_.frames.push_back(modules_.lookup(Avma::at(frame), 0));
      if (const auto name = code_names_.find(frame); name != code_names_.end()) {
        recording::Names& names = recording_.names;
        names.jit.push_back({0, next, 0, static_cast<uint32_t>(names.texts.size())});
        names.texts.push_back(name->second);
      }
    }
    return next;
  }

  const sampler::PythonCodes& python_;
  const std::map<uint64_t, std::string>& code_names_;
  sampler::ModuleMap modules_;
  recording::Recording recording_;
  std::vector<uint64_t> avmas_;
  std::unordered_map<uint64_t, uint32_t> rows_;  // by frame
};

// The locations of each thread's stack, leaf first.
std::vector<std::vector<uint32_t>> locations_of(const profile::Profile& profile, size_t threads) {
  std::vector<std::vector<uint32_t>> locations(threads);
  for (const profile::Sample& sample : profile.samples) {
    for (uint32_t stack = sample.stack; stack != profile::kNone;
         stack = profile.stacks[stack].prefix) {
      locations[sample.thread].push_back(profile.stacks[stack].location);
    }
  }
  return locations;
}

std::string state_in_words(const sampler::ThreadSnapshot& thread) {
  if (!thread.wait.call.empty()) {
    std::string words = fmt::format("waiting in {}", thread.wait.call);
    if (thread.state == 'D') words += ", uninterruptible";
    if (!thread.wait.object.empty()) words += fmt::format(" ({})", printable(thread.wait.object));
    return words;
  }
  switch (thread.state) {
    case 'R': return "running";
    case 'T': return "stopped by a signal";
    case 't': return "stopped by a debugger";
    case 'Z':
    case 'X': return "ended";
    default: return "waiting";
  }
}

// As gdb prints it: "#1  0x0000557a6c5b0a31 in main at main.c:12"; with the library if the line is
// unknown.
std::string frame_line(const profile::Profile& profile, const profile::Frame& frame, size_t number,
                       uint64_t avma) {
  const std::string place = avma != 0 ? fmt::format("0x{:016x}", avma) : "Python";
  std::string line = fmt::format("#{:<2} {:18} in {}", number, place,
                                 printable(function_name(profile, frame.function)));
  if (frame.inlined) line += " (inlined)";
  const std::string& file = profile.strings[frame.file];
  if (frame.line != 0 && !file.empty()) {
    return line + fmt::format(" at {}:{}", printable(file), frame.line);
  }
  const uint32_t module = profile.locations[frame.location].module;
  if (module != profile::kNone) {
    line += fmt::format(" from {}", printable(profile.modules[module].path));
  }
  return line;
}

std::string stack_lines(const Dump& dump, size_t index) {
  const sampler::ThreadSnapshot& thread = dump.threads[index];
  std::string lines;
  size_t number = 0;
  for_each_frame_of(dump, index, [&](const profile::Frame& frame, uint64_t avma) {
    lines += frame_line(dump.profile, frame, number++, avma) + "\n";
  });
  if (!thread.problem.empty()) {
    lines += fmt::format("    no stack: {}\n", thread.problem);
  } else if (thread.stop == wire::StopReason::kPythonTorn) {
    lines += fmt::format("    without Python's functions: {}\n", stop_reason_text(thread.stop));
  } else if (thread.stop != wire::StopReason::kRoot) {
    lines += fmt::format("    the stack goes on, but: {}\n", stop_reason_text(thread.stop));
  }
  return lines;
}

std::string thread_in_words(const Dump& dump, pid_t tid) {
  const auto name = dump.names.find(tid);
  return name == dump.names.end() ? fmt::format("TID {}", tid)
                                  : fmt::format("TID {} \"{}\"", tid, printable(name->second));
}

std::string deadlock_lines(const Dump& dump, const sampler::Deadlock& deadlock) {
  std::string lines = "\nDeadlock:\n";
  for (const sampler::MutexWait& wait : deadlock) {
    lines +=
        fmt::format("    {} waits for the mutex at 0x{:x}, held by {}\n",
                    thread_in_words(dump, wait.waiter), uint64_t{wait.mutex},
                    wait.holder == wait.waiter ? "itself" : thread_in_words(dump, wait.holder));
  }
  return lines;
}

void write_frame(Json& json, const profile::Profile& profile, const profile::Frame& frame,
                 uint64_t avma) {
  const uint32_t module = profile.locations[frame.location].module;
  json.member("function", function_name(profile, frame.function));
  json.member("file", profile.strings[frame.file]);
  json.member("line", frame.line);
  json.member("column", frame.column);
  json.member("inlined", frame.inlined);
  json.member("module", module != profile::kNone ? profile.modules[module].path : "");
  json.member("address", avma != 0 ? fmt::format("0x{:x}", avma) : "");
  json.member("python", is_python(profile.locations[frame.location]));
}

void write_thread(Json& json, const Dump& dump, size_t index) {
  const sampler::ThreadSnapshot& thread = dump.threads[index];
  const bool waits = !thread.wait.call.empty();
  json.member("tid", thread.tid);
  json.member("name", thread.name);
  json.member("state", std::string(1, thread.state));
  json.member("call", waits ? std::optional(thread.wait.call) : std::nullopt);
  json.member("object", thread.wait.object);
  json.member("complete", thread.problem.empty() && thread.stop == wire::StopReason::kRoot);
  json.member("stop", thread.problem.empty() ? stop_reason_text(thread.stop) : thread.problem);
  json.key("stack");
  json.array_of([&] {
    for_each_frame_of(dump, index, [&](const profile::Frame& frame, uint64_t avma) {
      json.object([&] { write_frame(json, dump.profile, frame, avma); });
    });
  });
}

}  // namespace

std::vector<symbolizer::Substitute> substitutes(const std::vector<sampler::HiddenFile>& hidden) {
  std::vector<symbolizer::Substitute> result;
  for (const sampler::HiddenFile& file : hidden) {
    result.push_back({file.path, file.build_id, file.open_as()});
  }
  return result;
}

Dump take_dump(pid_t pid, const std::vector<std::string>& threads, profile::PythonFrames python,
               const std::function<void(size_t done, size_t all)>& progress) {
  Dump result{};
  result.head = dump_head(pid);
  sampler::Snapshot snapshot = sampler::take_snapshot(pid, [&](pid_t tid, const std::string& name) {
    return threads.empty() ||
           std::any_of(threads.begin(), threads.end(),
                       [&](const std::string& word) { return is_called(word, tid, name); });
  });
  check_threads(threads, snapshot);
  std::erase_if(snapshot.threads,
                [](const sampler::ThreadSnapshot& thread) { return !thread.wanted; });
  SnapshotRecording recording(snapshot);
  result.profile = profile::load(recording.take(), python);
  result.avmas = recording.take_avmas();
  result.locations = locations_of(result.profile, snapshot.threads.size());
  result.profile.samples.clear();  // they weigh nothing, and the symbolizer would give up soon
  symbolizer::Options symbolizing;
  symbolizing.progress = progress;
  symbolizing.substitutes = substitutes(snapshot.hidden);
  result.notes = symbolizer::symbolize(result.profile, symbolizing).problems;
  result.notes.insert(result.notes.end(), snapshot.problems.begin(), snapshot.problems.end());
  if (snapshot.has_unknown_python) {
    result.notes.push_back("the stacks are native: sampan does not know this version of Python");
  }
  result.deadlocks = std::move(snapshot.deadlocks);
  result.names = std::move(snapshot.names);
  result.threads = std::move(snapshot.threads);
  result.stopped_ns = snapshot.stopped_ns;
  return result;
}

std::string dump_as_text(const Dump& dump) {
  std::string text = head_as_text(dump.head, plural(dump.threads.size(), "thread"));
  for (const sampler::Deadlock& deadlock : dump.deadlocks) text += deadlock_lines(dump, deadlock);
  for (size_t i = 0; i < dump.threads.size(); ++i) {
    const sampler::ThreadSnapshot& thread = dump.threads[i];
    text += fmt::format("\nTID {} \"{}\": {}\n", thread.tid, printable(thread.name),
                        state_in_words(thread));
    text += stack_lines(dump, i);
  }
  if (!dump.notes.empty()) text += "\n";
  for (const std::string& note : dump.notes) text += fmt::format("note: {}\n", printable(note));
  return text;
}

std::string dump_as_json(const Dump& dump) {
  Json json;
  json.object([&] {
    write_head(json, dump.head, dump.stopped_ns, dump.notes);
    json.key("deadlocks");
    json.array(dump.deadlocks, [&](const sampler::Deadlock& deadlock) {
      json.object([&] {
        json.key("waits");
        json.array(deadlock, [&](const sampler::MutexWait& wait) {
          json.object([&] {
            json.member("tid", wait.waiter);
            json.member("mutex", fmt::format("0x{:x}", uint64_t{wait.mutex}));
            json.member("holder", wait.holder);
          });
        });
      });
    });
    json.key("threads");
    json.array(dump.threads, [&](const sampler::ThreadSnapshot& thread) {
      const auto index = static_cast<size_t>(&thread - dump.threads.data());
      json.object([&] { write_thread(json, dump, index); });
    });
  });
  return json.text();
}

}  // namespace sampan::live

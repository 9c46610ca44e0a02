#include "remote/live/dump.h"

#include <fmt/chrono.h>
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <unordered_map>

#include "base/error.h"
#include "base/nearest.h"
#include "base/text/json_writer.h"
#include "base/text/readable.h"
#include "profile/frames.h"
#include "profile/load.h"
#include "recording/reader.h"
#include "sampler/inspect/permission.h"
#include "sampler/process/module_map.h"
#include "sampler/process/proc_task.h"
#include "symbolizer/symbolizer.h"

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

std::string now_in_words() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(ms / 1000), ms % 1000);
}

// A recording without samples, for its frames.
recording::Recording record_frames(const sampler::Snapshot& snapshot,
                                   std::vector<std::vector<uint32_t>>& locations) {
  recording::Recording recording;
  sampler::ModuleMap modules;
  for (const sampler::ModuleLoadRecord& load : snapshot.modules) {
    modules.load(load, static_cast<uint32_t>(recording.modules.size()));
    recording.modules.push_back({load.path, load.build_id, svma_of(load.start_avma, load.bias),
                                 svma_of(load.end_avma, load.bias)});
  }
  std::unordered_map<uint64_t, uint32_t> rows;  // by AVMA
  for (const sampler::ThreadSnapshot& thread : snapshot.threads) {
    std::vector<uint32_t>& of_thread = locations.emplace_back();
    for (const uint64_t avma : thread.frames) {
      const auto next = static_cast<uint32_t>(recording.frames.size());
      const auto [row, is_new] = rows.try_emplace(avma, next);
      if (is_new) recording.frames.push_back(modules.lookup(Avma::at(avma), 0));
      of_thread.push_back(row->second);
    }
  }
  return recording;
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
  std::string line = fmt::format("#{:<2} 0x{:016x} in {}", number, avma,
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
  } else if (thread.stop != wire::StopReason::kRoot) {
    lines += fmt::format("    the stack goes on, but: {}\n", stop_reason_text(thread.stop));
  }
  return lines;
}

void write_frame(Json& json, const profile::Profile& profile, const profile::Frame& frame,
                 uint64_t avma) {
  const uint32_t module = profile.locations[frame.location].module;
  json.member("function", function_name(profile, frame.function));
  json.member("file", profile.strings[frame.file]);
  json.member("line", frame.line);
  json.member("inlined", frame.inlined);
  json.member("module", module != profile::kNone ? profile.modules[module].path : "");
  json.member("address", fmt::format("0x{:x}", avma));
}

void write_thread(Json& json, const Dump& dump, size_t index) {
  const sampler::ThreadSnapshot& thread = dump.threads[index];
  const bool waits = !thread.wait.call.empty();
  json.member("tid", thread.tid);
  json.member("name", thread.name);
  json.member("state", std::string(1, thread.state));
  json.member("wait", waits ? std::optional(thread.wait.call) : std::nullopt);
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

Dump take_dump(pid_t pid, const std::vector<std::string>& threads,
               const std::function<void(size_t done, size_t all)>& progress) {
  if (const std::string why = sampler::why_not_profilable(pid); !why.empty()) {
    throw Error("{}", why);
  }
  Dump result{};
  result.pid = pid;
  result.executable = sampler::executable_of(pid);
  result.command = sampler::command_line_of(pid);
  result.time = now_in_words();
  sampler::Snapshot snapshot = sampler::take_snapshot(pid, [&](pid_t tid, const std::string& name) {
    return threads.empty() ||
           std::any_of(threads.begin(), threads.end(),
                       [&](const std::string& word) { return is_called(word, tid, name); });
  });
  check_threads(threads, snapshot);
  std::erase_if(snapshot.threads,
                [](const sampler::ThreadSnapshot& thread) { return !thread.wanted; });
  result.profile = profile::load(record_frames(snapshot, result.locations));
  symbolizer::Options symbolizing;
  symbolizing.progress = progress;
  symbolizing.substitutes = substitutes(snapshot.hidden);
  result.notes = symbolizer::symbolize(result.profile, symbolizing).problems;
  result.notes.insert(result.notes.end(), snapshot.problems.begin(), snapshot.problems.end());
  result.threads = std::move(snapshot.threads);
  result.stopped_ns = snapshot.stopped_ns;
  return result;
}

std::string dump_as_text(const Dump& dump) {
  std::string command;
  for (const std::string& word : dump.command) command += (command.empty() ? "" : " ") + word;
  std::string text = fmt::format("process {}: {}\n{}, {}\n", dump.pid, printable(command),
                                 plural(dump.threads.size(), "thread"), dump.time);
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
    json.member("pid", dump.pid);
    json.member("executable", dump.executable);
    json.member("command", dump.command);
    json.member("time", dump.time);
    json.member("stopped_ns", dump.stopped_ns);
    json.member("notes", dump.notes);
    json.key("threads");
    json.array(dump.threads, [&](const sampler::ThreadSnapshot& thread) {
      const auto index = static_cast<size_t>(&thread - dump.threads.data());
      json.object([&] { write_thread(json, dump, index); });
    });
  });
  return json.text();
}

}  // namespace sampan::live

#include <fmt/core.h>

#include "cli/dump.h"
#include "profile/frames.h"
#include "reports/text.h"

namespace sampan::cli {
namespace {

using reports::printable;

std::string state_in_words(const attach::ThreadSnapshot& thread) {
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

// As gdb's: "#1  0x0000557a6c5b0a31 in main at main.c:12"; a library's name where there is no line.
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
  const attach::ThreadSnapshot& thread = dump.threads[index];
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

}  // namespace

std::string dump_as_text(const Dump& dump) {
  std::string command;
  for (const std::string& word : dump.command) command += (command.empty() ? "" : " ") + word;
  std::string text = fmt::format("process {}: {}\n{}, {}\n", dump.pid, printable(command),
                                 reports::plural(dump.threads.size(), "thread"), dump.time);
  for (size_t i = 0; i < dump.threads.size(); ++i) {
    const attach::ThreadSnapshot& thread = dump.threads[i];
    text += fmt::format("\nTID {} \"{}\": {}\n", thread.tid, printable(thread.name),
                        state_in_words(thread));
    text += stack_lines(dump, i);
  }
  if (!dump.notes.empty()) text += "\n";
  for (const std::string& note : dump.notes) text += fmt::format("note: {}\n", printable(note));
  return text;
}

}  // namespace sampan::cli

#include "attach/proc_task.h"

#include <dirent.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "attach/proc_text.h"
#include "sampler/program.h"

namespace sampan::attach {
namespace {

constexpr uint64_t kKernelThread = 0x00200000;  // PF_KTHREAD of include/linux/sched.h

// Reads /proc/PID/task/TID/FILE; called often, so without allocation.
std::optional<std::string_view> read_task(pid_t pid, pid_t tid, const char* file,
                                          std::span<char> buffer) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/task/%d/%s", pid, tid, file);
  return read_start(path, buffer);
}

// The fields of /proc/PID/stat from the third, the state, on: the second may hold any character.
std::string_view stat_after_name(std::string_view stat) {
  const size_t end = stat.rfind(')');
  return end == std::string_view::npos ? std::string_view{} : stat.substr(end + 1);
}

std::string process_path(pid_t pid, const char* file) {
  return fmt::format("/proc/{}/{}", pid, file);
}

}  // namespace

std::vector<pid_t> thread_ids(pid_t pid) {
  std::vector<pid_t> tids;
  DIR* const directory = opendir(process_path(pid, "task").c_str());
  if (directory == nullptr) return tids;
  while (const dirent* entry = readdir(directory)) {
    const std::string_view name = entry->d_name;
    pid_t tid = 0;
    std::from_chars(name.data(), name.data() + name.size(), tid);
    if (tid > 0) tids.push_back(tid);
  }
  closedir(directory);
  std::sort(tids.begin(), tids.end());
  return tids;
}

std::optional<std::string> thread_name(pid_t pid, pid_t tid) {
  char buffer[64];
  const auto text = read_task(pid, tid, "comm", buffer);
  if (!text) return std::nullopt;
  return std::string(text->ends_with('\n') ? text->substr(0, text->size() - 1) : *text);
}

std::optional<char> thread_state(pid_t pid, pid_t tid) {
  char buffer[512];
  const auto text = read_task(pid, tid, "stat", buffer);
  std::string_view fields = stat_after_name(text.value_or(""));
  const std::string_view state = take_word(fields);
  return state.empty() ? std::nullopt : std::optional(state[0]);
}

std::optional<RunTimes> run_times(pid_t pid, pid_t tid) {
  char buffer[128];
  auto text = read_task(pid, tid, "schedstat", buffer);
  if (!text || text->empty()) return std::nullopt;
  RunTimes times;
  times.cpu_ns = take_number(*text);
  times.queued_ns = take_number(*text);
  times.turns = take_number(*text);
  return times;
}

std::optional<BlockedCall> blocked_call(pid_t pid, pid_t tid) {
  char buffer[256];
  auto text = read_task(pid, tid, "syscall", buffer);
  if (!text || text->empty() || text->starts_with("running")) return std::nullopt;
  BlockedCall call{};
  const std::string_view number = take_word(*text);
  std::from_chars(number.data(), number.data() + number.size(), call.number);
  if (call.number >= 0) {
    for (uint64_t& argument : call.arguments) argument = take_number(*text, 16);
  }
  call.sp = take_number(*text, 16);
  call.pc = take_number(*text, 16);
  return call.pc == 0 ? std::nullopt : std::optional(call);
}

std::optional<ProcessStatus> process_status(pid_t pid) {
  const auto text = read_whole(process_path(pid, "status"));
  const auto stat = read_whole(process_path(pid, "stat"));
  if (!text || text->empty() || !stat) return std::nullopt;
  const auto number = [&](const char* key, int position = 0) {
    std::string_view line = line_after(*text, key);
    for (; position > 0; --position) take_word(line);
    return take_number(line);
  };
  ProcessStatus status;
  status.name = thread_name(pid, pid).value_or("");
  const std::string_view state = line_after(*text, "State:");
  status.state = state.empty() ? '?' : state[0];
  status.parent_pid = static_cast<pid_t>(number("PPid:"));
  status.tracer_pid = static_cast<pid_t>(number("TracerPid:"));
  status.user = static_cast<uid_t>(number("Uid:", 1));
  status.seccomp_filter = number("Seccomp:") == 2;
  std::string_view fields = stat_after_name(*stat);
  for (int i = 0; i < 6; ++i) take_word(fields);  // state to tpgid
  status.kernel_thread = (take_number(fields) & kKernelThread) != 0;
  return status;
}

std::vector<std::string> command_line_of(pid_t pid) {
  const std::string text = read_whole(process_path(pid, "cmdline")).value_or("");
  std::vector<std::string> words;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\0', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  if (words.empty()) words.push_back(sampler::executable_of(pid));
  return words;
}

}  // namespace sampan::attach

#include "sampler/process/proc_task.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "sampler/process/proc_text.h"

namespace sampan::sampler {
namespace {

constexpr uint64_t kKernelThread = 0x00200000;  // PF_KTHREAD of include/linux/sched.h

// Reads /proc/PID/task/TID/FILE; called often, so without allocation.
std::optional<std::string_view> read_task(pid_t pid, pid_t tid, const char* file,
                                          std::span<char> buffer) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/task/%d/%s", pid, tid, file);
  return read_start(path, buffer);
}

// The fields of /proc/PID/stat from the third (the state) on. The second may hold any character.
std::string_view stat_after_name(std::string_view stat) {
  const size_t end = stat.rfind(')');
  return end == std::string_view::npos ? std::string_view{} : stat.substr(end + 1);
}

std::string process_path(pid_t pid, const char* file) {
  return fmt::format("/proc/{}/{}", pid, file);
}

constexpr int kReserved = 256;  // descriptors that are left for everything else

int highest_descriptor() {
  static const int highest = [] {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < kReserved) return 0;
    return static_cast<int>(std::min<rlim_t>(limit.rlim_cur, 1 << 20)) - kReserved;
  }();
  return highest;
}

// "CPU QUEUED TURNS\n"
std::optional<RunTimes> parse_run_times(std::string_view text) {
  if (text.empty()) return std::nullopt;
  RunTimes times;
  times.cpu_ns = CpuNs::at(take_number(text));
  times.queued_ns = take_number(text);
  times.turns = take_number(text);
  return times;
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

pid_t living_thread(pid_t pid) {
  const auto lives = [pid](pid_t tid) {
    const char state = thread_state(pid, tid).value_or('X');
    return state != 'Z' && state != 'X';
  };
  if (lives(pid)) return pid;
  const std::vector<pid_t> tids = thread_ids(pid);
  const auto found = std::ranges::find_if(tids, lives);
  return found != tids.end() ? *found : pid;
}

std::string shared_entries(pid_t pid) {
  const pid_t tid = living_thread(pid);
  return tid == pid ? fmt::format("/proc/{}", pid) : fmt::format("/proc/{}/task/{}", pid, tid);
}

std::vector<pid_t> child_processes(pid_t pid) {
  std::vector<pid_t> children;
  for (const pid_t tid : thread_ids(pid)) {
    const auto text = read_whole(fmt::format("/proc/{}/task/{}/children", pid, tid));
    std::string_view rest = text ? *text : std::string_view();
    while (const uint64_t child = take_number(rest)) children.push_back(static_cast<pid_t>(child));
  }
  return children;
}

pid_t innermost_pid(pid_t pid) {
  const auto status = read_whole(fmt::format("/proc/{}/status", pid));
  std::string_view line = line_after(status ? *status : std::string_view(), "NSpid:");
  pid_t innermost = pid;
  while (const uint64_t number = take_number(line)) innermost = static_cast<pid_t>(number);
  return innermost;
}

std::optional<std::string> thread_name(pid_t pid, pid_t tid) {
  char buffer[64];
  const auto text = read_task(pid, tid, "comm", buffer);
  if (!text) return std::nullopt;
  return std::string(text->ends_with('\n') ? text->substr(0, text->size() - 1) : *text);
}

pid_t process_of_thread(pid_t tid) {
  const auto status = read_whole("/proc/" + std::to_string(tid) + "/status");
  std::string_view line = line_after(status ? *status : std::string_view(), "Tgid:");
  return static_cast<pid_t>(take_number(line));
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
  return parse_run_times(read_task(pid, tid, "schedstat", buffer).value_or(""));
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
  call.sp = Avma::at(take_number(*text, 16));
  call.pc = Avma::at(take_number(*text, 16));
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
  const std::string text = read_whole(shared_entries(pid) + "/cmdline").value_or("");
  std::vector<std::string> words;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\0', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  // A title is shorter than the arguments that it replaces; zeros fill the rest.
  while (words.size() > 1 && words.back().empty()) words.pop_back();
  if (words.empty()) words.push_back(executable_of(pid));
  return words;
}

std::string executable_of(pid_t pid) {
  return read_link(shared_entries(pid) + "/exe").value_or(fmt::format("pid {}", pid));
}

std::string program_of(pid_t pid) {
  const std::string executable = executable_of(pid);
  const std::string word = command_line_of(pid).front();  // of a title, up to the first blank
  const std::string path = word.substr(0, word.find_first_of(" :"));
  const std::string link =
      executable.substr(0, executable.rfind('/') + 1) + path.substr(path.rfind('/') + 1);
  struct stat program {
  }, linked{};
  const std::string entries = shared_entries(pid);
  const bool is_link = stat((entries + "/exe").c_str(), &program) == 0 &&
                       stat((entries + "/root" + link).c_str(), &linked) == 0 &&
                       program.st_dev == linked.st_dev && program.st_ino == linked.st_ino;
  return is_link ? link : executable;
}

SchedstatFile::SchedstatFile(pid_t pid, pid_t tid) : pid_(pid), tid_(tid) {
  const std::string path = fmt::format("/proc/{}/task/{}/schedstat", pid, tid);
  file_ = FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  // The kernel gives out the lowest free number: a high one tells how many are in use.
  if (file_ && file_.get() > highest_descriptor()) file_.reset();
}

std::optional<RunTimes> SchedstatFile::read() const {
  if (!file_) return run_times(pid_, tid_);
  char text[96];
  const ssize_t size = ::pread(file_.get(), text, sizeof text, 0);
  return parse_run_times({text, size > 0 ? static_cast<size_t>(size) : 0});
}

}  // namespace sampan::sampler

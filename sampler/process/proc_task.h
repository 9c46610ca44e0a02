// What /proc says about the threads of a process. Any of it may vanish between two reads: a thread
// that is gone, or may not be looked at, is std::nullopt, never an error. Nothing here disturbs the
// process (proc_pid_stat(5) and its neighbours).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sampan::attach {

// The threads that there are now; empty when the process is gone.
std::vector<pid_t> thread_ids(pid_t pid);

std::optional<std::string> thread_name(pid_t pid, pid_t tid);

// R running or runnable, S and D asleep, T and t stopped, Z and X ended.
std::optional<char> thread_state(pid_t pid, pid_t tid);

// /proc/PID/task/TID/schedstat. All three only grow; when none has moved, the thread has not run.
struct RunTimes {
  uint64_t cpu_ns;     // on a CPU; brought up to date at the latest a tick ago
  uint64_t queued_ns;  // runnable, without a CPU
  uint64_t turns;      // times it got a CPU
  friend bool operator==(const RunTimes&, const RunTimes&) = default;
};
std::optional<RunTimes> run_times(pid_t pid, pid_t tid);

// Where a thread that is not running waits: /proc/PID/task/TID/syscall. Nothing for one that runs,
// and where the kernel refuses (PTRACE_MODE_ATTACH).
struct BlockedCall {
  int64_t number;  // of the system call; -1: it waits outside one (a page fault)
  uint64_t arguments[6];
  uint64_t sp;  // of user space
  uint64_t pc;
};
std::optional<BlockedCall> blocked_call(pid_t pid, pid_t tid);

// The thread group, its real user, who traces it; of /proc/PID/status.
struct ProcessStatus {
  std::string name;
  char state;
  pid_t parent_pid;
  pid_t tracer_pid;  // 0: nobody
  uid_t user;        // effective
  bool kernel_thread;
  bool seccomp_filter;
};
std::optional<ProcessStatus> process_status(pid_t pid);

// The words it was started with; never empty.
std::vector<std::string> command_line_of(pid_t pid);

}  // namespace sampan::attach

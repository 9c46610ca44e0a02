// What /proc says about a process and its threads (proc_pid_stat(5) and related pages). A thread
// may vanish between two reads: one that is gone, or may not be read, is std::nullopt, never an
// error. Nothing here disturbs the process.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/file_descriptor.h"
#include "base/time.h"

namespace sampan::sampler {

// The threads of now; empty when the process is gone.
std::vector<pid_t> thread_ids(pid_t pid);

// The thread whose entries in /proc tell what all threads of the process share: its memory, program, root and files. The leader,
// or another one when that has ended: a zombie's entries are empty.
pid_t living_thread(pid_t pid);
// "/proc/PID", or "/proc/PID/task/TID" of that thread.
std::string shared_entries(pid_t pid);

// The children of now, of all its threads; empty where the kernel does not tell (CONFIG_PROC_CHILDREN).
std::vector<pid_t> child_processes(pid_t pid);

// The process's number in the innermost PID namespace that it is in.
pid_t innermost_pid(pid_t pid);

std::optional<std::string> thread_name(pid_t pid, pid_t tid);

// The process of any thread; 0: it is gone.
pid_t process_of_thread(pid_t tid);

// R: running or runnable; S and D: asleep; T and t: stopped; Z and X: ended.
std::optional<char> thread_state(pid_t pid, pid_t tid);

// /proc/PID/task/TID/schedstat. All three only grow. If none has grown, the thread has not run.
struct RunTimes {
  CpuNs cpu_ns;        // on a CPU; brought up to date at the latest a tick ago
  uint64_t queued_ns;  // runnable, without a CPU
  uint64_t turns;      // times it got a CPU
  friend bool operator==(const RunTimes&, const RunTimes&) = default;
};
std::optional<RunTimes> run_times(pid_t pid, pid_t tid);

// Where a thread waits: /proc/PID/task/TID/syscall. Nothing for one that runs, or when the kernel
// refuses (PTRACE_MODE_ATTACH).
struct BlockedCall {
  int64_t number;  // of the system call; -1: it waits outside of one (page fault)
  uint64_t arguments[6];
  Avma sp;  // of user space
  Avma pc;
};
std::optional<BlockedCall> blocked_call(pid_t pid, pid_t tid);

// From /proc/PID/status.
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

// The arguments that the process was started with, or the title that it gave itself; never empty.
std::vector<std::string> command_line_of(pid_t pid);

// The program that `pid` executes: as /proc/PID/exe has it, without the kernel's " (deleted)"; "pid
// N" where it may not be read.
std::string executable_of(pid_t pid);
// The same, but by the link that the process was started by, if that is beside the program: redis-server is a link to
// redis-check-rdb, python3 to python3.11.
std::string program_of(pid_t pid);

// The run times of one thread. The file is kept open as long as there are descriptors to spare
// (RLIMIT_NOFILE), so that a read costs one system call. An open file stays that of its thread, even
// if another thread gets the tid later.
class SchedstatFile {
 public:
  SchedstatFile(pid_t pid, pid_t tid);

  // Nothing when the thread is gone.
  std::optional<RunTimes> read() const;

 private:
  pid_t pid_, tid_;
  FileDescriptor file_;
};

}  // namespace sampan::sampler

// What a thread waits for: the name of the system call, and the file, socket or thread that its
// arguments refer to.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/address.h"
#include "base/time.h"
#include "sampler/process/proc_task.h"
#include "sampler/process/python_runtime.h"
#include "sampler/waits/sockets.h"

namespace sampan::sampler {

struct WaitReason {
  std::string call;    // "epoll_wait", "futex", "GIL", "read", "page fault"; never empty
  std::string object;  // "pipe:[4711]", "/var/log/x", "tcp 10.0.0.1:443"; "" where there is none
};

// The object of a poll or select is the only descriptor that it waits for, or "3 descriptors"; that
// of an epoll, whose descriptors come and go, is the only one, or "several descriptors"; that of a
// pthread_join is the thread, and that of Python's GIL the thread that holds it. Reads /proc/PID/fd
// and the process's memory. The content of
// /proc/PID/net and of epoll descriptors is kept for a second: both are long lists, and reading
// them holds locks that the process needs.
class WaitReasons {
 public:
  explicit WaitReasons(pid_t pid) : WaitReasons(pid, PythonRuntime(pid)) {}
  WaitReasons(pid_t pid, PythonRuntime python)
      : pid_(pid), sockets_(pid), python_(std::move(python)) {}
  WaitReason describe(const BlockedCall& call);

 private:
  std::string object_of(const BlockedCall& call);
  std::string descriptor(uint64_t fd);
  std::string one_of(const std::vector<uint64_t>& descriptors);
  std::vector<uint64_t> in_poll(uint64_t array, uint64_t count) const;
  std::vector<uint64_t> in_select(const BlockedCall& call) const;
  const std::string& in_epoll(uint64_t fd);
  std::string path_at(Avma avma) const;
  std::string thread_of(const BlockedCall& futex) const;
  std::string named(pid_t tid) const;

  struct Epoll {
    MonotonicNs read_ns;
    std::string object;
  };

  pid_t pid_;
  Sockets sockets_;
  PythonRuntime python_;
  std::map<uint64_t, Epoll> epolls_;  // by descriptor
};

}  // namespace sampan::sampler

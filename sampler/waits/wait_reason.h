// What a thread that is not running waits for, in words: the system call, and the file, socket or
// thread behind its arguments.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "attach/proc_task.h"
#include "attach/sockets.h"

namespace sampan::attach {

struct WaitReason {
  std::string call;    // "epoll_wait", "futex", "read", "page fault"; never empty
  std::string object;  // "pipe:[4711]", "/var/log/x", "tcp 10.0.0.1:443"; "" where there is none
};

// Of a poll or select the object is the only descriptor that is waited for, or "3 descriptors"; of
// an epoll, whose descriptors come and go, the only one or "several descriptors"; of a pthread_join
// the thread. Reads /proc/PID/fd and the process's memory. What it reads of /proc/PID/net and of
// epoll descriptors it keeps for a second: both are long lists, and reading holds locks that the
// process needs.
class WaitReasons {
 public:
  explicit WaitReasons(pid_t pid) : pid_(pid), sockets_(pid) {}
  WaitReason describe(const BlockedCall& call);

 private:
  std::string object_of(const BlockedCall& call);
  std::string descriptor(uint64_t fd);
  std::string one_of(const std::vector<uint64_t>& descriptors);
  std::vector<uint64_t> in_poll(uint64_t array, uint64_t count) const;
  std::vector<uint64_t> in_select(const BlockedCall& call) const;
  const std::string& in_epoll(uint64_t fd);
  std::string path_at(uint64_t avma) const;
  std::string thread(const BlockedCall& futex) const;

  struct Epoll {
    uint64_t read_ns;
    std::string object;
  };

  pid_t pid_;
  Sockets sockets_;
  std::map<uint64_t, Epoll> epolls_;  // by descriptor
};

// The name of a system call of x86-64; "syscall 999" for one that is not known.
std::string syscall_name(int64_t number);

}  // namespace sampan::attach

// What a thread that is not running waits for, in words: the system call, and the file, socket or
// thread behind its arguments.
#pragma once

#include <sys/types.h>

#include <string>

#include "attach/proc_task.h"

namespace sampan::attach {

struct WaitReason {
  std::string call;    // "epoll_wait", "futex", "read", "page fault"; never empty
  std::string object;  // "pipe:[4711]", "/var/log/x", "tcp 10.0.0.1:443"; "" where there is none
};

// Of a poll or select, the object is its only descriptor, or "3 descriptors". Reads /proc/PID/fd
// and for sockets /proc/PID/net, of which it keeps what it has read for a second.
class WaitReasons {
 public:
  explicit WaitReasons(pid_t pid) : pid_(pid) {}
  WaitReason describe(const BlockedCall& call);

 private:
  pid_t pid_;
};

// The name of a system call of x86-64; "syscall 999" for one that is not known.
std::string syscall_name(int64_t number);

}  // namespace sampan::attach

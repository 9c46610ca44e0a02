// A child of the test, forked: its code is where ours is, so addresses of functions are the same.
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>

#include "attach/proc_task.h"

class Child {
 public:
  // `body` runs in the child, which ends when it returns.
  template <typename Body>
  explicit Child(Body&& body) : pid_(fork()) {
    if (pid_ != 0) return;
    body();
    _exit(0);
  }
  ~Child() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }

  // Waits until its first thread waits in the kernel, outside of what fork itself does.
  sampan::attach::BlockedCall wait_until_blocked(int64_t call) const {
    while (true) {
      const auto found = sampan::attach::blocked_call(pid_, pid_);
      if (found && found->number == call) return *found;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

 private:
  pid_t pid_;
};

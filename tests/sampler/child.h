// A forked child of the test: its functions have the same addresses as ours.
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "sampler/process/proc_task.h"

class Child {
 public:
  // `body` runs in the child, which ends when it returns.
  explicit Child(const std::function<void()>& body) : pid_(fork()) {
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
  sampan::sampler::BlockedCall wait_until_blocked(int64_t call) const {
    while (true) {
      const auto found = sampan::sampler::blocked_call(pid_, pid_);
      if (found && found->number == call) return *found;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

 private:
  pid_t pid_;
};

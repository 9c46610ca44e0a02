// A thread of another process that is stopped for a moment.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "base/time.h"
#include "unwind/registers.h"

namespace sampan::sampler {

// A thread that is stopped while this object lives, so that its registers and its stack can be read
// (PTRACE_SEIZE and PTRACE_INTERRUPT). Only for threads that run: the system call of one that waits
// in the kernel may be interrupted.
//
// When a thread ends, the kernel releases everything that it has stopped. So the object should live
// in a thread that is made for it: then nothing stays stopped, whatever happens. SIGCHLD must be
// blocked in all threads of this process.
class StoppedThread {
 public:
  explicit StoppedThread(pid_t tid);
  ~StoppedThread();  // the thread goes on, with the signal that it was about to get
  StoppedThread(const StoppedThread&) = delete;
  StoppedThread& operator=(const StoppedThread&) = delete;

  // 0, or why the thread is not stopped: EPERM: refused; ESRCH: gone; ETIMEDOUT: it stays in the
  // kernel.
  int error() const { return error_; }
  const unwind::Registers& registers() const { return registers_; }
  // How long it has been stopped.
  uint64_t stopped_ns() const;

 private:
  int stop();
  int wait();

  pid_t tid_;
  bool stopped_ = false;
  MonotonicNs since_ns_ = 0;
  int signal_ = 0;
  int error_ = 0;
  unwind::Registers registers_{};
};

}  // namespace sampan::sampler

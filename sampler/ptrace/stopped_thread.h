// Threads of other processes that ptrace(2) stops: how to stop one, and how to let it go on unharmed.
#pragma once

#include <sys/types.h>
#include <sys/user.h>

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

unwind::Registers registers_of(const user_regs_struct& user);

// PTRACE_INTERRUPT ends some system calls with EINTR although no signal came: epoll_wait, semop,
// sigtimedwait, and reads with a timeout (signal(7), the end of "Interruption of system calls"). The
// program must not see the EINTR, so the kernel is told to begin the call again.
//
// `registers` are those of a thread in PTRACE_EVENT_STOP. False for calls that must not be
// repeated, such as close(2).
bool must_begin_again(const user_regs_struct& registers);

// The call begins again when the thread goes on. If a handler runs first, the call fails with
// EINTR, as it does without us.
void begin_again(pid_t tid);

}  // namespace sampan::sampler

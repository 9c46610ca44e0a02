// A thread of another process that stands still while this object lives: for a look at its
// registers and its stack (ptrace(2), PTRACE_SEIZE and PTRACE_INTERRUPT). Only for threads that
// run: one that waits in the kernel may have its system call interrupted.
//
// The kernel lets go of all that a thread has stopped when that thread ends, so the object should
// live in a thread that is made for it: then nothing is left behind, whatever happens. SIGCHLD must
// be blocked in all threads of this process.
#pragma once

#include <sys/types.h>
#include <sys/user.h>

#include <cstdint>

#include "unwind/registers.h"

namespace sampan::attach {

class StoppedThread {
 public:
  explicit StoppedThread(pid_t tid);
  ~StoppedThread();  // it goes on, with the signal that it was about to get
  StoppedThread(const StoppedThread&) = delete;
  StoppedThread& operator=(const StoppedThread&) = delete;

  // 0, or why it does not stand still: EPERM refused, ESRCH gone, ETIMEDOUT it stays in the kernel.
  int error() const { return error_; }
  const unwind::Registers& registers() const { return registers_; }
  // How long it stood still until now.
  uint64_t stopped_ns() const;

 private:
  int stop();
  int wait();

  pid_t tid_;
  bool stopped_ = false;
  uint64_t since_ns_ = 0;
  int signal_ = 0;
  int error_ = 0;
  unwind::Registers registers_{};
};

unwind::Registers registers_of(const user_regs_struct& user);

}  // namespace sampan::attach

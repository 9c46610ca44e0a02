#include "sampler/ptrace/stopped_thread.h"

#include <elf.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#include <cerrno>

#include "base/clock.h"
#include "sampler/ptrace/user_registers.h"

namespace sampan::sampler {
namespace {

// A thread that runs stops at the latest when its system call ends, or, if it waits for a CPU, at
// its next turn.
constexpr long kTimeoutNs = 1'000'000'000;

}  // namespace

StoppedThread::StoppedThread(pid_t tid) : tid_(tid) {
  error_ = stop();
}

StoppedThread::~StoppedThread() {
  if (stopped_) ptrace(PTRACE_DETACH, tid_, nullptr, signal_);
}

int StoppedThread::stop() {
  if (ptrace(PTRACE_SEIZE, tid_, nullptr, nullptr) != 0) return errno;
  since_ns_ = monotonic_ns();
  if (ptrace(PTRACE_INTERRUPT, tid_, nullptr, nullptr) != 0) return errno;
  if (const int error = wait(); error != 0) return error;
  stopped_ = true;
  user_regs_struct user;
  iovec all{&user, sizeof user};
  if (ptrace(PTRACE_GETREGSET, tid_, NT_PRSTATUS, &all) != 0) return errno;
  registers_ = registers_of(user);
  return 0;
}

int StoppedThread::wait() {
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  while (monotonic_ns() - since_ns_ < uint64_t{kTimeoutNs}) {
    int status = 0;
    const pid_t found = waitpid(tid_, &status, __WALL | WNOHANG);
    if (found < 0) return errno;
    if (found == 0) {
      const timespec pause{0, kTimeoutNs / 50};
      sigtimedwait(&child, nullptr, &pause);
      continue;
    }
    if (!WIFSTOPPED(status)) return ESRCH;
    // A stop without an event is for a signal, which must not be lost.
    if (status >> 16 == 0) signal_ = WSTOPSIG(status);
    return 0;
  }
  return ETIMEDOUT;
}

uint64_t StoppedThread::stopped_ns() const {
  return monotonic_ns() - since_ns_;
}

}  // namespace sampan::sampler

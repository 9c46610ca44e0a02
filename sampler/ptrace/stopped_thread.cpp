#include "sampler/ptrace/stopped_thread.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>

#include "base/clock.h"

namespace sampan::sampler {
namespace {

// A thread that runs stops at the latest when its system call ends, or, if it waits for a CPU, at
// its next turn.
constexpr long kTimeoutNs = 1'000'000'000;

constexpr std::array kRepeatable = {
    SYS_epoll_wait, SYS_epoll_pwait,  SYS_epoll_pwait2, SYS_semop,          SYS_semtimedop,
    SYS_read,       SYS_readv,        SYS_recvfrom,     SYS_recvmsg,        SYS_recvmmsg,
    SYS_accept,     SYS_accept4,      SYS_write,        SYS_writev,         SYS_sendto,
    SYS_sendmsg,    SYS_io_getevents, SYS_msgrcv,       SYS_rt_sigtimedwait};

constexpr long kRestartNoHandler = -514;  // ERESTARTNOHAND of include/linux/errno.h

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
  if (ptrace(PTRACE_GETREGS, tid_, nullptr, &user) != 0) return errno;
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

unwind::Registers registers_of(const user_regs_struct& user) {
  // In the order of the DWARF numbers.
  return {{user.rax, user.rdx, user.rcx, user.rbx, user.rsi, user.rdi, user.rbp, user.rsp, user.r8,
           user.r9, user.r10, user.r11, user.r12, user.r13, user.r14, user.r15, user.rip}};
}

bool must_begin_again(const user_regs_struct& registers) {
  return static_cast<long>(registers.rax) == -EINTR &&
         std::ranges::find(kRepeatable, static_cast<long>(registers.orig_rax)) != kRepeatable.end();
}

void begin_again(pid_t tid) {
  ptrace(PTRACE_POKEUSER, tid, offsetof(user_regs_struct, rax), kRestartNoHandler);
}

}  // namespace sampan::sampler

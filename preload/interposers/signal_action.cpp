#include "preload/interposers/signal_action.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <ucontext.h>

#include "base/syscall.h"
#include "preload/signals/alternate_stack.h"
#include "preload/signals/signal_action.h"
#include "preload/support/interpose.h"
#include "preload/threads/threads.h"

namespace sampan::preload {
namespace {

// siginterrupt(): the signals for which signal() leaves out SA_RESTART.
std::atomic<uint64_t> interrupting = 0;

// sigaction for a started shim. The same results as the kernel's.
int set_action(int signo, const struct sigaction* wanted, struct sigaction* before) {
  // The program may have set its stack by a system call that nothing here sees, as Go does.
  if (wanted != nullptr && (wanted->sa_flags & SA_ONSTACK) != 0) {
    if (const SignalState* state = current_signals()) look_at_alternate_stack(*state);
  }
  const SignalLock locked;
  struct sigaction kernel;
  if (kernel_action(signo, nullptr, &kernel) != 0) return -1;
  const struct sigaction now = shown_action(signo, kernel);
  // A copy: the program may pass the same struct for both.
  if (wanted != nullptr) {
    const struct sigaction action = *wanted;
    const uint64_t bit = signal_bit(signo);
    note_unseen_handler(signo, kernel);
    if (action.sa_handler != SIG_DFL && (hidden_signals() & bit) != 0) give_to_program(bit);
    if (install_action(signo, action) != 0) return -1;
  }
  if (before != nullptr) *before = now;
  return 0;
}

sighandler_t set_handler(int signo, sighandler_t handler, int flags, uint64_t mask) {
  if (handler == SIG_ERR || !is_signal(signo)) {
    errno = EINVAL;
    return SIG_ERR;
  }
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  set_signal_bits(action.sa_mask, mask);
  struct sigaction before;
  if (change_action(signo, &action, &before) != 0) return SIG_ERR;
  return before.sa_handler;
}

sighandler_t set_bsd_handler(int signo, sighandler_t handler) {
  if (!is_signal(signo)) return set_handler(signo, handler, 0, 0);
  const bool interrupts = (interrupting.load(std::memory_order_relaxed) & signal_bit(signo)) != 0;
  return set_handler(signo, handler, interrupts ? 0 : SA_RESTART, signal_bit(signo));
}

}  // namespace

int change_action(int signo, const struct sigaction* wanted, struct sigaction* before) {
  if (signals_active() && is_signal(signo)) return set_action(signo, wanted, before);
  const int result = kernel_action(signo, wanted, before);
  // Our handler stays hidden in a vfork child, too.
  if (result == 0 && before != nullptr) *before = shown_action(signo, *before);
  return result;
}

void look_up_signal_functions() {
  SAMPAN_NEXT(sigtimedwait);
  SAMPAN_NEXT(sigsuspend);
  SAMPAN_NEXT(signalfd);
  SAMPAN_NEXT(ppoll);
  SAMPAN_NEXT(pselect);
  SAMPAN_NEXT(epoll_pwait);
  SAMPAN_NEXT(sigpending);
  SAMPAN_NEXT(longjmp);
  SAMPAN_NEXT(_longjmp);
  SAMPAN_NEXT(siglongjmp);
  next<void(jmp_buf, int), "__longjmp_chk">();
  next<int(jmp_buf, int) noexcept, "__sigsetjmp">();
  next<int(ucontext_t*) noexcept, "getcontext">();
  SAMPAN_NEXT(setcontext);
  SAMPAN_NEXT(setitimer);
  SAMPAN_NEXT(swapcontext);
}

void give_to_program(uint64_t signals) {
  const int before = sampling_signal();
  if (!move_sampling(signals)) return;
  rearm_all_threads();
  reinstall_program_handlers();
  if (take_held_signal()) raw_syscall(SYS_kill, raw_syscall(SYS_getpid), before);
}

uint64_t give_waited_to_program(uint64_t waited) {
  uint64_t wanted = waited & hidden_signals();
  if (__builtin_popcountll(waited) > kSignalCount / 2) {
    wanted &= signal_bit(SIGPROF) | signal_bit(SIGWINCH);
  } else {
    note_waited(waited);
  }
  if (wanted != 0) {
    const SignalLock locked;
    give_to_program(wanted);
  }
  return waited & ~hidden_signals();
}

}  // namespace sampan::preload

using namespace sampan::preload;

SAMPAN_EXPORT int sigaction(int signo, const struct sigaction* action,
                            struct sigaction* before) noexcept {
  return change_action(signo, action, before);
}
SAMPAN_EXPORT int __sigaction(int signo, const struct sigaction* action, struct sigaction* before) {
  return change_action(signo, action, before);
}

SAMPAN_EXPORT sighandler_t signal(int signo, sighandler_t handler) noexcept {
  return set_bsd_handler(signo, handler);
}
SAMPAN_EXPORT sighandler_t bsd_signal(int signo, sighandler_t handler) noexcept {
  return set_bsd_handler(signo, handler);
}
SAMPAN_EXPORT sighandler_t ssignal(int signo, sighandler_t handler) noexcept {
  return set_bsd_handler(signo, handler);
}
SAMPAN_EXPORT sighandler_t sysv_signal(int signo, sighandler_t handler) noexcept {
  return set_handler(signo, handler, SA_RESETHAND | SA_NODEFER, 0);
}
SAMPAN_EXPORT sighandler_t __sysv_signal(int signo, sighandler_t handler) noexcept {
  return set_handler(signo, handler, SA_RESETHAND | SA_NODEFER, 0);
}

SAMPAN_EXPORT int siginterrupt(int signo, int interrupt) noexcept {
  if (!is_signal(signo)) {
    errno = EINVAL;
    return -1;
  }
  struct sigaction action;
  if (change_action(signo, nullptr, &action) != 0) return -1;
  if (interrupt != 0) {
    interrupting.fetch_or(signal_bit(signo), std::memory_order_relaxed);
    action.sa_flags &= ~SA_RESTART;
  } else {
    interrupting.fetch_and(~signal_bit(signo), std::memory_order_relaxed);
    action.sa_flags |= SA_RESTART;
  }
  return change_action(signo, &action, nullptr);
}

SAMPAN_EXPORT int sigignore(int signo) noexcept {
  return set_handler(signo, SIG_IGN, 0, 0) == SIG_ERR ? -1 : 0;
}

SAMPAN_EXPORT sighandler_t sigset(int signo, sighandler_t handler) noexcept {
  if (!is_signal(signo) || handler == SIG_ERR) return set_handler(signo, SIG_ERR, 0, 0);
  sigset_t one = signal_set(signal_bit(signo));
  sigset_t mask;
  struct sigaction before;
  if (handler == SIG_HOLD) {
    if (sigprocmask(SIG_BLOCK, &one, &mask) != 0) return SIG_ERR;
    if (change_action(signo, nullptr, &before) != 0) return SIG_ERR;
  } else {
    before.sa_handler = set_handler(signo, handler, 0, 0);
    if (before.sa_handler == SIG_ERR || sigprocmask(SIG_UNBLOCK, &one, &mask) != 0) return SIG_ERR;
  }
  return (signal_bits(mask) & signal_bit(signo)) != 0 ? SIG_HOLD : before.sa_handler;
}

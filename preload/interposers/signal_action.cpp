// sigaction, signal and their kin. Every handler of the program passes through here, because its
// mask must not block a hidden signal and because SA_ONSTACK must not mean a stack of ours.
#include <errno.h>

#include "preload/interpose.h"
#include "preload/program_signals.h"

namespace sampan::preload {
namespace {

constexpr int kShimFlags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;

// What the kernel has of a handler of the program, beside what the program asked for.
struct Difference {
  uint64_t mask_removed;
  uint64_t mask_added;
  int flags_removed;
};
Difference differences[kSignalCount + 1];

// Shared signals: the kernel has our handler, the program's own is here.
struct Shared {
  std::atomic<bool> shared;
  std::atomic<uintptr_t> handler;
  std::atomic<int> flags;
  uint64_t mask;
};
Shared shared_signals[kSignalCount + 1];

// siginterrupt(): what signal() leaves out SA_RESTART for.
std::atomic<uint64_t> interrupting = 0;

int kernel_action(int signo, const struct sigaction* wanted, struct sigaction* before) {
  return SAMPAN_NEXT(sigaction)(signo, wanted, before);
}

bool is_disposition(const struct sigaction& action) {
  return action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN;
}

// The action as the program knows it.
struct sigaction shown(int signo, const struct sigaction& kernel) {
  struct sigaction action = kernel;
  if (kernel.sa_sigaction == sampling_handler) {
    const Shared& shared = shared_signals[signo];
    action.sa_handler =
        reinterpret_cast<sighandler_t>(shared.handler.load(std::memory_order_relaxed));
    action.sa_flags = shared.flags.load(std::memory_order_relaxed);
    set_signal_bits(action.sa_mask, shared.mask);
  } else if (!is_disposition(kernel)) {
    const Difference& difference = differences[signo];
    action.sa_flags |= difference.flags_removed;
    set_signal_bits(action.sa_mask, (signal_bits(kernel.sa_mask) & ~difference.mask_added) |
                                        difference.mask_removed);
  }
  return action;
}

int install(int signo, const struct sigaction& wanted) {
  struct sigaction action = wanted;
  Difference& difference = differences[signo];
  difference = {};
  uint64_t mask = signal_bits(wanted.sa_mask);
  const bool has_handler = !is_disposition(wanted);
  if (has_handler) {
    difference.mask_removed = mask & hidden_signals();
    if ((wanted.sa_flags & SA_ONSTACK) != 0) {
      // The program has no alternate stack anywhere: it means the stack that the thread is on.
      if (!program_has_alternate_stacks()) difference.flags_removed = SA_ONSTACK;
      if (program_has_small_alternate_stacks()) {
        difference.mask_added = signal_bit(sampling_signal()) & ~mask;
        difference.mask_removed &= ~signal_bit(sampling_signal());
      }
    }
    mask = (mask & ~difference.mask_removed) | difference.mask_added;
    action.sa_flags &= ~difference.flags_removed;
    set_signal_bits(action.sa_mask, mask);
  }
  Shared& shared = shared_signals[signo];
  if (!shared.shared.load(std::memory_order_relaxed)) return kernel_action(signo, &action, nullptr);

  shared.handler.store(reinterpret_cast<uintptr_t>(wanted.sa_handler), std::memory_order_relaxed);
  shared.flags.store(wanted.sa_flags, std::memory_order_relaxed);
  shared.mask = signal_bits(wanted.sa_mask) & ~kUnblockable;
  if (wanted.sa_handler == SIG_IGN && signo != sampling_signal()) {
    return kernel_action(signo, &action, nullptr);
  }
  action.sa_sigaction = sampling_handler;
  if (!has_handler) {
    action.sa_flags = kShimFlags;
    set_signal_bits(action.sa_mask, ~uint64_t{0});
  } else {
    // SA_RESETHAND is acted out: a late signal of ours must not use it up.
    action.sa_flags = (action.sa_flags | SA_SIGINFO) & ~SA_RESETHAND;
    if (signo == sampling_signal()) action.sa_flags |= SA_RESTART;
  }
  return kernel_action(signo, &action, nullptr);
}

// sigaction for a started shim. The same results as the kernel's.
int set_action(int signo, const struct sigaction* wanted, struct sigaction* before) {
  const SignalLock locked;
  struct sigaction kernel;
  if (kernel_action(signo, nullptr, &kernel) != 0) return -1;
  const struct sigaction now = shown(signo, kernel);
  // A copy: the program may pass the same struct for both.
  if (wanted != nullptr) {
    const struct sigaction action = *wanted;
    const uint64_t bit = signal_bit(signo);
    if (action.sa_handler != SIG_DFL && (hidden_signals() & bit) != 0) give_to_program(bit);
    if (install(signo, action) != 0) return -1;
  }
  if (before != nullptr) *before = now;
  return 0;
}

int change_action(int signo, const struct sigaction* wanted, struct sigaction* before) {
  if (signals_active() && is_signal(signo)) return set_action(signo, wanted, before);
  const int result = kernel_action(signo, wanted, before);
  // In a vfork child: our handler stays hidden there too.
  if (result == 0 && before != nullptr) *before = shown(signo, *before);
  return result;
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

bool has_default_action(int signo) {
  struct sigaction action;
  return kernel_action(signo, nullptr, &action) == 0 && action.sa_handler == SIG_DFL;
}

void set_default_action(int signo) {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  kernel_action(signo, &action, nullptr);
}

void share_signal(int signo) {
  shared_signals[signo].shared.store(true, std::memory_order_relaxed);
}

void install_shared_handler(int signo) {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  install(signo, action);
}

uintptr_t take_shared_handler(int signo) {
  Shared& shared = shared_signals[signo];
  if ((shared.flags.load(std::memory_order_relaxed) & SA_RESETHAND) == 0) {
    return shared.handler.load(std::memory_order_relaxed);
  }
  return shared.handler.exchange(reinterpret_cast<uintptr_t>(SIG_DFL), std::memory_order_relaxed);
}

void reinstall_program_handlers() {
  for (int signo = 1; signo <= kSignalCount; ++signo) {
    if ((signal_bit(signo) & (kUnblockable | kLibcSignals)) != 0) continue;
    struct sigaction kernel;
    if (kernel_action(signo, nullptr, &kernel) != 0 || is_disposition(kernel)) continue;
    install(signo, shown(signo, kernel));
  }
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

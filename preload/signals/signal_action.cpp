#include "preload/signals/signal_action.h"

#include "preload/signals/alternate_stack.h"
#include "preload/support/interpose.h"
#include "preload/support/machine.h"
#include "preload/support/vdso.h"

namespace sampan::preload {
namespace {

constexpr int kShimFlags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;

// How the kernel's action differs from the one that the program asked for.
struct Difference {
  uint64_t mask_removed;
  uint64_t mask_added;
};
Difference differences[kSignalCount + 1];

struct Shared {
  std::atomic<bool> shared;
  std::atomic<uintptr_t> handler;
  std::atomic<int> flags;
  uint64_t mask;
};
Shared shared_signals[kSignalCount + 1];

SignalHandler shared_handler;

bool is_disposition(const struct sigaction& action) {
  return action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN;
}

// The next sigaction may be that of a sanitizer's runtime: gcc's for TSan puts a handler of its own before each, which
// keeps signals back until the thread makes a call that blocks. Our handler touches nothing of the runtime's, so the
// kernel calls it directly.
void install_before_runtimes(int signo) {
  KernelAction now{};
  if (raw_syscall(SYS_rt_sigaction, signo, nullptr, &now, kKernelSetSize) != 0) return;
  if (now.handler == reinterpret_cast<uintptr_t>(shared_handler)) return;
  now.handler = reinterpret_cast<uintptr_t>(shared_handler);
  raw_syscall(SYS_rt_sigaction, signo, &now, nullptr, kKernelSetSize);
}

}  // namespace

int kernel_action(int signo, const struct sigaction* wanted, struct sigaction* before) {
  return SAMPAN_NEXT(sigaction)(signo, wanted, before);
}

struct sigaction shown_action(int signo, const struct sigaction& kernel) {
  struct sigaction action = kernel;
  if (shared_handler != nullptr && kernel.sa_sigaction == shared_handler) {
    const Shared& shared = shared_signals[signo];
    action.sa_handler =
        reinterpret_cast<sighandler_t>(shared.handler.load(std::memory_order_relaxed));
    action.sa_flags = shared.flags.load(std::memory_order_relaxed);
    set_signal_bits(action.sa_mask, shared.mask);
  } else if (!is_disposition(kernel)) {
    const Difference& difference = differences[signo];
    set_signal_bits(action.sa_mask, (signal_bits(kernel.sa_mask) & ~difference.mask_added) |
                                        difference.mask_removed);
  }
  return action;
}

int install_action(int signo, const struct sigaction& wanted) {
  struct sigaction action = wanted;
  Difference& difference = differences[signo];
  difference = {};
  uint64_t mask = signal_bits(wanted.sa_mask);
  const bool has_handler = !is_disposition(wanted);
  if (has_handler) {
    difference.mask_removed = mask & hidden_signals();
    if ((wanted.sa_flags & SA_ONSTACK) != 0 && program_has_small_alternate_stacks()) {
      difference.mask_added = signal_bit(sampling_signal()) & ~mask;
      difference.mask_removed &= ~signal_bit(sampling_signal());
    }
    mask = (mask & ~difference.mask_removed) | difference.mask_added;
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
  action.sa_sigaction = shared_handler;
  if (!has_handler) {
    action.sa_flags = kShimFlags;
    set_signal_bits(action.sa_mask, ~uint64_t{0});
  } else {
    // take_shared_handler carries out SA_RESETHAND: a late signal of ours must not use it up.
    action.sa_flags = (action.sa_flags | SA_SIGINFO) & ~SA_RESETHAND;
    if (signo == sampling_signal()) action.sa_flags |= SA_RESTART;
  }
  const int result = kernel_action(signo, &action, nullptr);
  if (result == 0 && !has_handler) install_before_runtimes(signo);
  return result;
}

bool has_default_action(int signo) {
  struct sigaction action;
  return kernel_action(signo, nullptr, &action) == 0 && action.sa_handler == SIG_DFL;
}

void set_default_action(int signo) {
  const KernelAction action{};
  raw_syscall(SYS_rt_sigaction, signo, &action, nullptr, kKernelSetSize);
}

bool has_our_action(int signo) {
  KernelAction now{};
  return raw_syscall(SYS_rt_sigaction, signo, nullptr, &now, kKernelSetSize) == 0 &&
         now.handler == reinterpret_cast<uintptr_t>(shared_handler);
}

uint64_t signal_return_address() {
  KernelAction now{};
  raw_syscall(SYS_rt_sigaction, sampling_signal(), nullptr, &now, kKernelSetSize);
  return (now.restorer != 0 ? now.restorer : vdso_signal_return) + kRestorerSize;
}

void share_by(SignalHandler handler) {
  shared_handler = handler;
}

void share_signal(int signo) {
  shared_signals[signo].shared.store(true, std::memory_order_relaxed);
}

void install_shared_handler(int signo) {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  install_action(signo, action);
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
    install_action(signo, shown_action(signo, kernel));
  }
}

void keep_samples_off_alternate_stacks() {
  const uint64_t sampling = signal_bit(sampling_signal());
  for (int signo = 1; signo <= kSignalCount; ++signo) {
    if ((signal_bit(signo) & (kUnblockable | kLibcSignals)) != 0) continue;
    KernelAction now{};
    if (raw_syscall(SYS_rt_sigaction, signo, nullptr, &now, kKernelSetSize) != 0) continue;
    const bool has_handler = now.handler != reinterpret_cast<uintptr_t>(SIG_DFL) &&
                             now.handler != reinterpret_cast<uintptr_t>(SIG_IGN);
    if (!has_handler || (now.flags & SA_ONSTACK) == 0 || (now.mask & sampling) != 0) continue;
    Difference& difference = differences[signo];
    if ((difference.mask_removed & sampling) == 0) difference.mask_added |= sampling;
    difference.mask_removed &= ~sampling;
    now.mask |= sampling;
    raw_syscall(SYS_rt_sigaction, signo, &now, nullptr, kKernelSetSize);
  }
}

}  // namespace sampan::preload

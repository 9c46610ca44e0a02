#include "preload/signals/signal_action.h"

#include "preload/signals/alternate_stack.h"
#include "preload/support/interpose.h"
#include "preload/support/machine.h"
#include "preload/support/vdso.h"

namespace sampan::preload {
namespace {

constexpr int kShimFlags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;

constexpr size_t kMostReplaced = 3;

// What the program has asked for. `shared`: by a signal that sampling uses or has used.
struct Kept {
  std::atomic<bool> shared;
  std::atomic<uintptr_t> handler;
  std::atomic<int> flags;
  std::atomic<uint64_t> mask;
  std::atomic<uintptr_t>
      replaced[kMostReplaced];  // handlers that were set before, the latest first
};
Kept kept_actions[kSignalCount + 1];

KernelHandlers ours;
std::atomic<uint64_t> return_address;

bool is_disposition(const struct sigaction& action) {
  return action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN;
}

// The signal whose program's handler a handler of ours calls, when the kernel calls it for `signo`; 0: it is not ours.
int signal_of(SignalHandler handler, int signo) {
  if (ours.shared == nullptr) return 0;
  if (handler == ours.shared) return signo;
  for (int number = 1; number <= kSignalCount; ++number) {
    if (handler == ours.program[number]) return number;
  }
  return 0;
}

// The next sigaction may be that of a sanitizer's runtime: gcc's for TSan puts a handler of its own before each, which
// keeps signals back until the thread makes a call that blocks. Our handler touches nothing of the runtime's, so the
// kernel calls it directly.
void install_before_runtimes(int signo) {
  KernelAction now{};
  if (raw_syscall(SYS_rt_sigaction, signo, nullptr, &now, kKernelSetSize) != 0) return;
  if (now.handler == reinterpret_cast<uintptr_t>(ours.shared)) return;
  now.handler = reinterpret_cast<uintptr_t>(ours.shared);
  raw_syscall(SYS_rt_sigaction, signo, &now, nullptr, kKernelSetSize);
}

// On a small alternate stack there is room for one frame.
uint64_t added_by(int flags) {
  const bool adds = (flags & SA_ONSTACK) != 0 && program_has_small_alternate_stacks();
  return adds ? signal_bit(sampling_signal()) : 0;
}

// A handler of the program's that sees a frame, or during which the kernel's mask is not the program's. Not that of SIGSYS: a
// call of ours there may raise SIGSYS itself.
bool goes_by_us(int signo, int flags) {
  return signo != SIGSYS && ((flags & SA_SIGINFO) != 0 || added_by(flags) != 0);
}

bool is_kept(int signo, sighandler_t handler) {
  return reinterpret_cast<uintptr_t>(handler) ==
         kept_actions[signo].handler.load(std::memory_order_relaxed);
}

}  // namespace

int kernel_action(int signo, const struct sigaction* wanted, struct sigaction* before) {
  return SAMPAN_NEXT(sigaction)(signo, wanted, before);
}

struct sigaction shown_action(int signo, const struct sigaction& kernel) {
  const Kept& kept = kept_actions[signo];
  const int flags = kept.flags.load(std::memory_order_relaxed);
  // The kernel has carried out SA_RESETHAND, and has left the rest.
  const bool was_reset = kernel.sa_handler == SIG_DFL && (flags & SA_RESETHAND) != 0;
  const bool is_direct = !is_disposition(kernel) && is_kept(signo, kernel.sa_handler);
  if (signal_of(kernel.sa_sigaction, signo) == 0 && !is_direct && !was_reset) return kernel;
  struct sigaction action = kernel;
  if (!was_reset) {
    action.sa_handler =
        reinterpret_cast<sighandler_t>(kept.handler.load(std::memory_order_relaxed));
  }
  action.sa_flags = flags;
  set_signal_bits(action.sa_mask, kept.mask.load(std::memory_order_relaxed));
  return action;
}

int install_action(int signo, const struct sigaction& given) {
  struct sigaction wanted = given;
  // The program has read it from the kernel by a system call that nothing here has seen.
  if (const int other = signal_of(given.sa_sigaction, signo); other != 0) {
    wanted.sa_handler = reinterpret_cast<sighandler_t>(kept_actions[other].handler.load());
  }
  Kept& kept = kept_actions[signo];
  const bool shared = kept.shared.load(std::memory_order_relaxed);
  kept.handler.store(reinterpret_cast<uintptr_t>(wanted.sa_handler), std::memory_order_relaxed);
  kept.flags.store(wanted.sa_flags, std::memory_order_relaxed);
  kept.mask.store(signal_bits(wanted.sa_mask) & ~kUnblockable, std::memory_order_relaxed);
  const bool has_handler = !is_disposition(wanted);
  const bool is_ignored = wanted.sa_handler == SIG_IGN && signo != sampling_signal();
  if (!has_handler && (!shared || is_ignored)) return kernel_action(signo, &wanted, nullptr);
  struct sigaction action = wanted;
  const uint64_t added = added_by(wanted.sa_flags);
  if (shared) {
    action.sa_sigaction = ours.shared;
  } else if (goes_by_us(signo, wanted.sa_flags)) {
    action.sa_sigaction = ours.program[signo];
    action.sa_flags |= SA_SIGINFO;
  }
  if (!has_handler) {
    action.sa_flags = kShimFlags;
    set_signal_bits(action.sa_mask, ~uint64_t{0});
  } else {
    // take_action carries out SA_RESETHAND: a late signal of ours must not use it up.
    if (shared) action.sa_flags = (action.sa_flags | SA_SIGINFO) & ~SA_RESETHAND;
    if (signo == sampling_signal()) action.sa_flags |= SA_RESTART;
    const uint64_t mask = signal_bits(wanted.sa_mask) & ~hidden_signals();
    set_signal_bits(action.sa_mask, mask | added);
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
         now.handler == reinterpret_cast<uintptr_t>(ours.shared);
}

uint64_t signal_return_address() {
  KernelAction now{};
  raw_syscall(SYS_rt_sigaction, sampling_signal(), nullptr, &now, kKernelSetSize);
  return (now.restorer != 0 ? now.restorer : vdso_signal_return) + kRestorerSize;
}

void handle_by(const KernelHandlers& handlers) {
  ours = handlers;
}

void share_signal(int signo) {
  kept_actions[signo].shared.store(true, std::memory_order_relaxed);
}

void install_shared_handler(int signo) {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  install_action(signo, action);
  KernelAction now{};
  raw_syscall(SYS_rt_sigaction, signo, nullptr, &now, kKernelSetSize);
  return_address.store(now.restorer != 0 ? now.restorer : vdso_signal_return);
}

bool has_replaced_handlers(int signo) {
  return kept_actions[signo].replaced[0].load(std::memory_order_relaxed) != 0;
}

void note_unseen_handler(int signo, const struct sigaction& kernel) {
  Kept& kept = kept_actions[signo];
  const uintptr_t handler = kept.handler.load(std::memory_order_relaxed);
  if (is_disposition(kernel) || signal_of(kernel.sa_sigaction, signo) != 0 ||
      is_kept(signo, kernel.sa_handler) || handler <= reinterpret_cast<uintptr_t>(SIG_IGN)) {
    return;
  }
  for (size_t i = kMostReplaced - 1; i > 0; --i) {
    kept.replaced[i].store(kept.replaced[i - 1].load(std::memory_order_relaxed));
  }
  kept.replaced[0].store(handler);
  any_hidden.store(true, std::memory_order_relaxed);  // jumps end handlers
}

uint64_t handler_return_address() {
  return return_address.load(std::memory_order_relaxed);
}

ProgramAction take_action(int signo, unsigned level) {
  Kept& kept = kept_actions[signo];
  if (level > 0) {
    const uintptr_t handler = level <= kMostReplaced ? kept.replaced[level - 1].load() : 0;
    const auto ignored = reinterpret_cast<uintptr_t>(SIG_IGN);
    return {reinterpret_cast<SignalHandler>(handler != 0 ? handler : ignored), 0, 0};
  }
  const int flags = kept.flags.load(std::memory_order_relaxed);
  const bool resets = (flags & SA_RESETHAND) != 0 && kept.shared.load(std::memory_order_relaxed);
  const uintptr_t handler = resets ? kept.handler.exchange(reinterpret_cast<uintptr_t>(SIG_DFL),
                                                           std::memory_order_relaxed)
                                   : kept.handler.load(std::memory_order_relaxed);
  const uint64_t mask = kept.mask.load(std::memory_order_relaxed);
  return {reinterpret_cast<SignalHandler>(handler),
          mask | ((flags & SA_NODEFER) != 0 ? 0 : signal_bit(signo)), added_by(flags) & ~mask};
}

void reinstall_program_handlers() {
  for (int signo = 1; signo <= kSignalCount; ++signo) {
    if ((signal_bit(signo) & (kUnblockable | kLibcSignals)) != 0) continue;
    struct sigaction kernel;
    if (kernel_action(signo, nullptr, &kernel) != 0 || is_disposition(kernel)) continue;
    if (signal_of(kernel.sa_sigaction, signo) == 0 && !is_kept(signo, kernel.sa_handler)) continue;
    install_action(signo, shown_action(signo, kernel));
  }
}

void keep_samples_off_alternate_stacks() {
  const uint64_t sampling = signal_bit(sampling_signal());
  for (int signo = 1; signo <= kSignalCount; ++signo) {
    KernelAction now{};
    if (raw_syscall(SYS_rt_sigaction, signo, nullptr, &now, kKernelSetSize) != 0) continue;
    const bool has_handler = now.handler != reinterpret_cast<uintptr_t>(SIG_DFL) &&
                             now.handler != reinterpret_cast<uintptr_t>(SIG_IGN);
    if (!has_handler || (now.flags & SA_ONSTACK) == 0 || (now.mask & sampling) != 0) continue;
    now.mask |= sampling;
    const auto handler = reinterpret_cast<sighandler_t>(now.handler);
    if (is_kept(signo, handler) && goes_by_us(signo, static_cast<int>(now.flags))) {
      now.handler = reinterpret_cast<uintptr_t>(ours.program[signo]);
      now.flags |= SA_SIGINFO;
    }
    raw_syscall(SYS_rt_sigaction, signo, &now, nullptr, kKernelSetSize);
  }
}

}  // namespace sampan::preload

#include "preload/interposers/raw_signals.h"

#include <errno.h>
#include <sys/uio.h>

#include "base/syscall.h"
#include "preload/interposers/signal_action.h"
#include "preload/interposers/signal_mask.h"
#include "preload/process/process.h"
#include "preload/signals/sampling_signal.h"
#include "preload/signals/signal_action.h"

namespace sampan::preload {
namespace {

constexpr uint64_t kHasRestorer = 0x04000000;  // SA_RESTORER of asm/signal.h; libc sets its own

// The program's pointers may be wrong. Then the kernel says so, not a fault in here.
template <typename T>
bool copy(long call, long there, T& here) {
  const iovec ours{&here, sizeof here};
  const iovec theirs{reinterpret_cast<void*>(there), sizeof here};
  return raw_syscall(call, raw_syscall(SYS_getpid), &ours, 1, &theirs, 1, 0) == long{sizeof here};
}
template <typename T>
bool copy_in(long from, T& value) {
  return from == 0 || copy(SYS_process_vm_readv, from, value);
}
template <typename T>
bool copy_out(T& value, long to) {
  return to == 0 || copy(SYS_process_vm_writev, to, value);
}

RawResult change_raw_action(int signo, long wanted, long before) {
  const bool ordinary =
      is_signal(signo) && (signal_bit(signo) & (kLibcSignals | kUnblockable)) == 0;
  KernelAction given{}, shown{};
  if (!ordinary || !copy_in(wanted, given) || !copy_in(before, shown)) return {};
  struct sigaction action {
  }, now;
  action.sa_handler = reinterpret_cast<sighandler_t>(given.handler);
  action.sa_flags = static_cast<int>(given.flags & ~kHasRestorer);
  set_signal_bits(action.sa_mask, given.mask);
  if (change_action(signo, wanted != 0 ? &action : nullptr, &now) != 0) return {true, -1};
  shown = {reinterpret_cast<uintptr_t>(now.sa_handler), static_cast<unsigned>(now.sa_flags),
           reinterpret_cast<uintptr_t>(now.sa_restorer), signal_bits(now.sa_mask)};
  if (shown.restorer != 0) shown.flags |= kHasRestorer;
  if (copy_out(shown, before)) return {true, 0};
  errno = EFAULT;
  return {true, -1};
}

RawResult change_raw_mask(int how, long wanted, long before) {
  uint64_t bits = 0, shown = 0;
  const bool known = wanted == 0 || how == SIG_BLOCK || how == SIG_UNBLOCK || how == SIG_SETMASK;
  if (!known || !copy_in(wanted, bits) || !copy_in(before, shown)) return {};
  shown = change_program_mask(wanted != 0 ? how : SIG_BLOCK, bits & ~kUnblockable);
  if (copy_out(shown, before)) return {true, 0};
  errno = EFAULT;
  return {true, -1};
}

}  // namespace

bool is_signal_call(long number) {
  return number == SYS_rt_sigaction || number == SYS_rt_sigprocmask;
}

__attribute__((noinline)) RawResult make_signal_call(long number, long a, long b, long c, long d) {
  // Under a seccomp filter, more calls than the program's own may be fatal.
  if (d != long{kKernelSetSize} || this_process.seccomp_filtered.load(std::memory_order_relaxed) ||
      !signals_active()) {
    return {};
  }
  return number == SYS_rt_sigaction ? change_raw_action(static_cast<int>(a), b, c)
                                    : change_raw_mask(static_cast<int>(a), b, c);
}

}  // namespace sampan::preload

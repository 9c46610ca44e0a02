// prctl and syscall: they name threads, fork, and forbid them what a sample may need (confinement.h). The
// shim must know before, because a filter holds from its first instruction on.
#include <errno.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>

#include "base/syscall.h"
#include "preload/interposers/blocking_calls.h"
#include "preload/interposers/confinement.h"
#include "preload/interposers/process_life.h"
#include "preload/interposers/raw_signals.h"
#include "preload/process/process.h"
#include "preload/support/interpose.h"
#include "preload/threads/threads.h"

namespace sampan::preload {
namespace {

// The shim is at work, and not in a vfork child, which has threads and filters of its own.
bool acts() {
  return active() &&
         (this_process.seccomp_filtered.load(std::memory_order_relaxed) || !in_vfork_child());
}

bool is_confining(int option) {
  return option == PR_SET_SECCOMP || option == PR_SET_SYSCALL_USER_DISPATCH || option == PR_SET_TSC;
}

// A prctl with an option of is_confining.
long confine(int option, unsigned long a, unsigned long b, Install install) {
  if (!acts()) return install();
  if (option == PR_SET_SYSCALL_USER_DISPATCH)
    return set_dispatch(a != PR_SYS_DISPATCH_OFF, install);
  if (option == PR_SET_TSC) return a == PR_TSC_SIGSEGV ? forbid_tsc(install) : install();
  return a == SECCOMP_MODE_STRICT ? become_strict(install) : install_filter({b, 0}, install);
}

using SystemCall = long(long, long, long, long, long, long, long) noexcept;

// Whether syscall() is called for something that the shim must know.
bool is_confining_call(long number, long a) {
  return number == SYS_seccomp ? a == SECCOMP_SET_MODE_FILTER || a == SECCOMP_SET_MODE_STRICT
                               : number == SYS_prctl && is_confining(static_cast<int>(a));
}

__attribute__((noinline)) long confine_by_number(long number, long a, long b, long c, long d,
                                                 long e, long f) {
  auto* const original = next<SystemCall, "syscall">();
  const auto call = [&] { return original(number, a, b, c, d, e, f); };
  const Install install = install_by(call);
  if (number == SYS_prctl) {
    return confine(static_cast<int>(a), static_cast<unsigned long>(b),
                   static_cast<unsigned long>(c), install);
  }
  if (!acts()) return install();
  return a == SECCOMP_SET_MODE_STRICT
             ? become_strict(install)
             : install_filter({static_cast<uint64_t>(c), static_cast<unsigned>(b)}, install);
}

bool may_fork(long number) {
#ifdef SYS_fork
  if (number == SYS_fork) return true;
#endif
  return number == SYS_clone || number == SYS_clone3;
}

// As fork(), without the handlers that a program has registered for that.
__attribute__((noinline)) long fork_by_number(long number, long a, long b, long c, long d, long e,
                                              long f) {
  const ForkState state = begin_fork();
  const long pid = next<SystemCall, "syscall">()(number, a, b, c, d, e, f);
  const int saved_errno = errno;
  pid == 0 ? end_fork_in_child(state) : end_fork_in_parent(state);
  errno = saved_errno;
  return pid;
}

}  // namespace
}  // namespace sampan::preload

using namespace sampan::preload;

SAMPAN_EXPORT int prctl(int option, ...) noexcept {
  va_list list;
  va_start(list, option);
  const unsigned long a = va_arg(list, unsigned long), b = va_arg(list, unsigned long),
                      c = va_arg(list, unsigned long), d = va_arg(list, unsigned long);
  va_end(list);
  auto* const original = SAMPAN_NEXT(prctl);
  if (is_confining(option)) {
    const auto call = [&] { return original(option, a, b, c, d); };
    return static_cast<int>(confine(option, a, b, install_by(call)));
  }
  const int result = original(option, a, b, c, d);
  if (option == PR_SET_NAME && result == 0 && active()) {
    if (const ThreadState* thread = current_thread()) {
      rename_thread(*thread, reinterpret_cast<const char*>(a));
    }
  }
  return result;
}

// libseccomp installs filters by syscall(). Every other call goes on to the C library as it came, by
// a jump: some return twice, or on another stack. So the arguments are fixed, unlike those of
// <unistd.h>: they lie where they are when they are passed on.
SAMPAN_EXPORT SystemCall interposed_syscall asm("syscall");

long interposed_syscall(long number, long a, long b, long c, long d, long e, long f) noexcept {
  if (is_confining_call(number, a)) return confine_by_number(number, a, b, c, d, e, f);
  if (is_signal_call(number)) {
    if (const RawResult made = make_signal_call(number, a, b, c, d); made.done) return made.result;
  }
  if (may_fork(number) && acts() && is_fork_call(number, a, b)) {
    return fork_by_number(number, a, b, c, d, e, f);
  }
  auto* const original = next<SystemCall, "syscall">();
  if (drum_clock::in_use() && is_blocking_call(number)) {
    const Blocking blocking;
    return original(number, a, b, c, d, e, f);
  }
  return original(number, a, b, c, d, e, f);
}

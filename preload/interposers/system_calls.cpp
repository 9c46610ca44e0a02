// prctl and syscall: they name threads and install seccomp filters. From the moment that a filter is
// installed, the shim does nothing that the filter might not expect. The handler must know before,
// because the filter holds from its first instruction on.
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>

#include "base/syscall.h"
#include "preload/interposers/raw_signals.h"
#include "preload/process/process.h"
#include "preload/support/interpose.h"
#include "preload/threads/threads.h"

namespace sampan::preload {
namespace {

// Runs `install`, which installs a filter, or fails with a negative result.
template <typename F>
long while_filtering(F&& install) {
  const bool before = this_process.seccomp_filtered.exchange(true);
  const long result = install();
  if (result < 0) this_process.seccomp_filtered.store(before);
  return result;
}

// Runs `install`, which leaves the calling thread read, write, exit and sigreturn. Even reading the
// clock is fatal then (the kernel takes its instruction away), so nothing of the process is recorded
// from here on.
template <typename F>
long while_becoming_strict(F&& install) {
  count_loss(wire::Loss::kThreadSeccomp);
  this_process.started.store(false);
  const long result = install();
  if (result < 0) this_process.started.store(true);
  return result;
}

using SystemCall = long(long, long, long, long, long, long, long) noexcept;

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
  if (option == PR_SET_SECCOMP && active()) {
    const auto install = [&] { return original(option, a, b, c, d); };
    return static_cast<int>(a == SECCOMP_MODE_STRICT ? while_becoming_strict(install)
                                                     : while_filtering(install));
  }
  const int result = original(option, a, b, c, d);
  if (option == PR_SET_NAME && result == 0 && active()) {
    if (const ThreadState* thread = current_thread()) {
      record_thread_name(thread->tid, reinterpret_cast<const char*>(a));
    }
  }
  return result;
}

// libseccomp installs filters by syscall(). Every other call goes on to the C library as it came, by
// a jump: some return twice, or on another stack. So the arguments are fixed, unlike those of
// <unistd.h>: they lie where they are when they are passed on.
SAMPAN_EXPORT SystemCall interposed_syscall asm("syscall");

long interposed_syscall(long number, long a, long b, long c, long d, long e, long f) noexcept {
  auto* const original = next<SystemCall, "syscall">();
  const bool filters = number == SYS_seccomp && a == SECCOMP_SET_MODE_FILTER;
  const bool becomes_strict = number == SYS_seccomp && a == SECCOMP_SET_MODE_STRICT;
  if ((filters || becomes_strict) && active()) {
    const auto install = [&] { return original(number, a, b, c, d, e, f); };
    return filters ? while_filtering(install) : while_becoming_strict(install);
  }
  if (is_signal_call(number)) {
    if (const RawResult made = make_signal_call(number, a, b, c, d); made.done) return made.result;
  }
  return original(number, a, b, c, d, e, f);
}

// syscall(), by which libseccomp installs filters. Every other call goes on to the C library as it
// came, by a jump: some return twice, or on another stack. So it takes fixed arguments, which lie
// where they were when they are passed on, and not those of <unistd.h>.
#include <linux/seccomp.h>

#include "base/syscall.h"
#include "preload/interpose.h"
#include "preload/process.h"
#include "preload/seccomp.h"

namespace {

using SystemCall = long(long, long, long, long, long, long, long) noexcept;

}  // namespace

SAMPAN_EXPORT SystemCall interposed_syscall asm("syscall");

long interposed_syscall(long number, long a, long b, long c, long d, long e, long f) noexcept {
  using namespace sampan::preload;
  auto* const original = next<SystemCall, "syscall">();
  const bool filters = number == SYS_seccomp && a == SECCOMP_SET_MODE_FILTER;
  const bool becomes_strict = number == SYS_seccomp && a == SECCOMP_SET_MODE_STRICT;
  if ((filters || becomes_strict) && active()) {
    const auto install = [&] { return original(number, a, b, c, d, e, f); };
    return filters ? while_filtering(install) : while_becoming_strict(install);
  }
  return original(number, a, b, c, d, e, f);
}

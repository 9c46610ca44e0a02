// prctl and syscall, for what they say about threads: a name, a seccomp filter.
#include <errno.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/syscall.h"
#include "preload/interpose.h"
#include "preload/names.h"
#include "preload/process.h"
#include "preload/threads.h"

namespace sampan::preload {
namespace {

// Runs `install`, which puts a seccomp filter in. The handler must know before, for the filter
// holds from its first instruction on.
template <typename F>
long while_filtering(F&& install) {
  const bool before = this_process.seccomp_filtered.exchange(true);
  const long result = install();
  if (result < 0) this_process.seccomp_filtered.store(before);
  return result;
}

}  // namespace
}  // namespace sampan::preload

SAMPAN_EXPORT int prctl(int option, ...) noexcept {
  using namespace sampan::preload;
  va_list list;
  va_start(list, option);
  const unsigned long a = va_arg(list, unsigned long), b = va_arg(list, unsigned long),
                      c = va_arg(list, unsigned long), d = va_arg(list, unsigned long);
  va_end(list);
  auto* const original = SAMPAN_NEXT(prctl);
  if (option == PR_SET_SECCOMP && active()) {
    return static_cast<int>(while_filtering([&] { return original(option, a, b, c, d); }));
  }
  const int result = original(option, a, b, c, d);
  if (option == PR_SET_NAME && result == 0 && active()) {
    if (const ThreadState* thread = current_thread()) {
      record_thread_name(thread->tid, reinterpret_cast<const char*>(a));
    }
  }
  return result;
}

SAMPAN_EXPORT long syscall(long number, ...) noexcept {
  using namespace sampan::preload;
  va_list list;
  va_start(list, number);
  long a[6];
  for (long& argument : a) argument = va_arg(list, long);
  va_end(list);
  const auto call = [&] {
    const long result = sampan::raw_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (result >= 0 || result < -4095) return result;
    errno = static_cast<int>(-result);
    return -1L;
  };
  if (number == SYS_seccomp && a[0] == SECCOMP_SET_MODE_FILTER && active()) {
    return while_filtering(call);
  }
  return call();
}

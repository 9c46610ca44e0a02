// prctl, for what it says about threads: a name, a seccomp filter.
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/prctl.h>

#include "preload/interpose.h"
#include "preload/names.h"
#include "preload/process.h"
#include "preload/seccomp.h"
#include "preload/threads.h"

SAMPAN_EXPORT int prctl(int option, ...) noexcept {
  using namespace sampan::preload;
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

// clone() with a function, as programs call it that make threads of their own kind.
#include <sched.h>
#include <stdarg.h>

#include "preload/interpose.h"
#include "preload/process.h"
#include "preload/threads.h"

SAMPAN_EXPORT int clone(int (*entry)(void*), void* stack, int flags, void* argument, ...) noexcept {
  using namespace sampan::preload;
  va_list list;
  va_start(list, argument);
  auto* const parent_tid = va_arg(list, pid_t*);
  auto* const tls = va_arg(list, void*);
  auto* const child_tid = va_arg(list, pid_t*);
  va_end(list);
  const int tid = SAMPAN_NEXT(clone)(entry, stack, flags, argument, parent_tid, tls, child_tid);
  if (tid > 0 && (flags & CLONE_THREAD) != 0 && active()) {
    if (ThreadState* thread = claim_slot()) begin_thread(*thread, tid, 0);
  }
  return tid;
}

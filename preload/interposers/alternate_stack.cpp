// sigaltstack.
#include "preload/signals/alternate_stack.h"

#include <errno.h>

#include "preload/support/interpose.h"
#include "preload/threads/threads.h"

using namespace sampan::preload;

SAMPAN_EXPORT int sigaltstack(const stack_t* wanted, stack_t* before) noexcept {
  const int result =
      change_alternate_stack(signals_active() ? current_signals() : nullptr, wanted, before);
  if (result >= 0) return 0;
  errno = -result;
  return -1;
}

// sigaltstack, and jumps out of a handler on a small alternate stack of the program's. The sampling
// signal is blocked there (signals/signal_action.cpp). The jump unblocks it with the mask that it
// restores, before it has left the stack, and a pending sample would come on what little room is
// left.
//
// So the clock is postponed by a moment, what is pending is dropped, and the signal is unblocked. The
// next sample carries the CPU time all the same.
#include <errno.h>
#include <setjmp.h>
#include <ucontext.h>

#include "preload/interposers/blocking_calls.h"
#include "preload/signals/alternate_stack.h"
#include "preload/support/interpose.h"
#include "preload/threads/threads.h"

namespace sampan::preload {
namespace {

void leave_small_stack() {
  leave_blocking_calls();
  if (!program_has_small_alternate_stacks() || !signals_active()) return;
  ThreadState* thread = current_thread();
  if (thread == nullptr || !on_small_alternate_stack(thread->signals)) return;
  const uint64_t mask = change_kernel_mask(SIG_BLOCK, ~uint64_t{0});
  thread->clock.lock.lock();
  postpone_clock(thread->clock);
  thread->clock.lock.unlock();
  const uint64_t sampling = signal_bit(sampling_signal());
  drop_pending(sampling);
  change_kernel_mask(SIG_SETMASK, mask & ~sampling);
}

}  // namespace

}  // namespace sampan::preload

using namespace sampan::preload;

SAMPAN_EXPORT int sigaltstack(const stack_t* wanted, stack_t* before) noexcept {
  const int result =
      change_alternate_stack(signals_active() ? current_signals() : nullptr, wanted, before);
  if (result >= 0) return 0;
  errno = -result;
  return -1;
}

// The original is looked up before the clock is postponed: that takes time, and the moment is short.
SAMPAN_EXPORT void longjmp(jmp_buf target, int value) noexcept {
  auto* const original = SAMPAN_NEXT(longjmp);
  leave_small_stack();
  original(target, value);
  __builtin_unreachable();
}
SAMPAN_EXPORT void _longjmp(jmp_buf target, int value) noexcept {
  auto* const original = SAMPAN_NEXT(_longjmp);
  leave_small_stack();
  original(target, value);
  __builtin_unreachable();
}
SAMPAN_EXPORT void siglongjmp(sigjmp_buf target, int value) noexcept {
  auto* const original = SAMPAN_NEXT(siglongjmp);
  leave_small_stack();
  original(target, value);
  __builtin_unreachable();
}
SAMPAN_EXPORT __attribute__((noreturn)) void __longjmp_chk(jmp_buf target, int value) noexcept {
  auto* const original = next<void(jmp_buf, int), "__longjmp_chk">();
  leave_small_stack();
  original(target, value);
  __builtin_unreachable();
}
SAMPAN_EXPORT int setcontext(const ucontext_t* target) noexcept {
  auto* const original = SAMPAN_NEXT(setcontext);
  leave_small_stack();
  return original(target);
}
SAMPAN_EXPORT int swapcontext(ucontext_t* here, const ucontext_t* target) noexcept {
  auto* const original = SAMPAN_NEXT(swapcontext);
  leave_small_stack();
  return original(here, target);
}

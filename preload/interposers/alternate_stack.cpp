// Jumps out of a handler on a small alternate stack. The sampling signal is blocked there (see
// signal_action.cpp), and the jump itself unblocks it with the mask that it restores, before it has
// left the stack: a sample that has been pending would come on what little room is left.
//
// So the clock is put off for a moment, what is pending is dropped, and the signal unblocked. The
// next sample carries the CPU time all the same.
#include <setjmp.h>
#include <ucontext.h>

#include "preload/clock.h"
#include "preload/interpose.h"
#include "preload/program_signals.h"

namespace sampan::preload {
namespace {

void leave_small_stack() {
  if (!program_has_small_alternate_stacks() || !signals_active()) return;
  ThreadState* thread = current_thread();
  if (thread == nullptr || !on_small_alternate_stack(thread->signals)) return;
  const uint64_t mask = change_kernel_mask(SIG_BLOCK, ~uint64_t{0});
  thread->clock_lock.lock();
  postpone(*thread);
  thread->clock_lock.unlock();
  const uint64_t sampling = signal_bit(sampling_signal());
  drop_pending(sampling);
  change_kernel_mask(SIG_SETMASK, mask & ~sampling);
}

}  // namespace

void look_up_jumps() {
  SAMPAN_NEXT(longjmp);
  SAMPAN_NEXT(_longjmp);
  SAMPAN_NEXT(siglongjmp);
  next<void(jmp_buf, int), "__longjmp_chk">();
  SAMPAN_NEXT(setcontext);
  SAMPAN_NEXT(swapcontext);
}

}  // namespace sampan::preload

using namespace sampan::preload;

// Each is looked up before the stack is left: that takes its time, and the moment is short.
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

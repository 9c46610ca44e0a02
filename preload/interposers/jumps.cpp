// Jumps, which may lead out of a signal handler, and their targets.
//
// A target has the kernel's mask. What the program believes of the hidden signals is kept with it (handler_view.h).
//
// On a small alternate stack of the program's the sampling signal is blocked (signals/signal_action.cpp). A
// jump from there unblocks it with the mask that it restores, before it has left the stack, and a pending
// sample would come on what little room is left. So the clock is postponed by a moment, what is pending is
// dropped, and the signal is unblocked. The next sample carries the CPU time all the same.
#include <setjmp.h>
#include <ucontext.h>

#include "preload/interposers/blocking_calls.h"
#include "preload/signals/alternate_stack.h"
#include "preload/signals/handler_view.h"
#include "preload/support/interpose.h"
#include "preload/threads/threads.h"

namespace sampan::preload {
namespace {

void leave_small_stack() {
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

// To `mask`, or null: the thread keeps the one that it has.
void leave_for(const sigset_t* mask) {
  leave_blocking_calls();
  leave_small_stack();
  if (!views_differ()) return;
  if (ThreadState* thread = begun_thread()) restore_view(thread->signals, mask);
}

void leave_for(const __jmp_buf_tag& target) {
  leave_for(target.__mask_was_saved != 0 ? &target.__saved_mask : nullptr);
}

void keep_view_in(sigset_t& mask) {
  if (!views_differ()) return;
  if (const ThreadState* thread = begun_thread()) keep_view(thread->signals, mask);
}

}  // namespace
}  // namespace sampan::preload

using namespace sampan::preload;

// These two return twice, so the original must find the caller's frame: it is called by a jump.
using SetJump = int(jmp_buf, int) noexcept;
using GetContext = int(ucontext_t*) noexcept;
SAMPAN_EXPORT SetJump set_jump asm("__sigsetjmp");
SAMPAN_EXPORT GetContext get_context asm("getcontext");

int set_jump(jmp_buf target, int keeps_mask) noexcept {
  auto* const original = next<SetJump, "__sigsetjmp">();
  if (keeps_mask != 0) keep_view_in(target->__saved_mask);
  return original(target, keeps_mask);
}
int get_context(ucontext_t* here) noexcept {
  auto* const original = next<GetContext, "getcontext">();
  keep_view_in(here->uc_sigmask);
  return original(here);
}

// The original is looked up before the clock is postponed: that takes time, and the moment is short.
SAMPAN_EXPORT void longjmp(jmp_buf target, int value) noexcept {
  auto* const original = SAMPAN_NEXT(longjmp);
  leave_for(*target);
  original(target, value);
  __builtin_unreachable();
}
SAMPAN_EXPORT void _longjmp(jmp_buf target, int value) noexcept {
  auto* const original = SAMPAN_NEXT(_longjmp);
  leave_for(*target);
  original(target, value);
  __builtin_unreachable();
}
SAMPAN_EXPORT void siglongjmp(sigjmp_buf target, int value) noexcept {
  auto* const original = SAMPAN_NEXT(siglongjmp);
  leave_for(*target);
  original(target, value);
  __builtin_unreachable();
}
SAMPAN_EXPORT __attribute__((noreturn)) void __longjmp_chk(jmp_buf target, int value) noexcept {
  auto* const original = next<void(jmp_buf, int), "__longjmp_chk">();
  leave_for(*target);
  original(target, value);
  __builtin_unreachable();
}
SAMPAN_EXPORT int setcontext(const ucontext_t* target) noexcept {
  auto* const original = SAMPAN_NEXT(setcontext);
  leave_for(&target->uc_sigmask);
  return original(target);
}
SAMPAN_EXPORT int swapcontext(ucontext_t* here, const ucontext_t* target) noexcept {
  auto* const original = SAMPAN_NEXT(swapcontext);
  keep_view_in(here->uc_sigmask);
  leave_for(&target->uc_sigmask);
  return original(here, target);
}

// Alternate signal stacks. A sampled thread that has none gets one of ours, so that a sample never
// needs room on the thread's own stack, which may be a fiber's of a few pages. The program sees and
// sets what it would without us. docs/signals.md has the cases.
//
// Freestanding: linked into the target.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "preload/signals/sampling_signal.h"

namespace sampan::preload {

// In a thread that is to be sampled, by itself, before its clock is armed: unblocks the sampling
// signal, keeps what the program believes about it, and gives the thread the alternate stack.
// `inherited_hidden`: SignalState::hidden of the thread that made it.
void adopt_thread_signals(SignalState& state, uint64_t inherited_hidden, std::span<uint8_t> stack);
// At each sample, in the handler. The frame has the kernel's alternate stack, and the kernel takes that from the frame on
// return. So a thread that was found by a scan gets one at its first sample, and one that the program has set by a system
// call that nothing here sees becomes known.
void follow_alternate_stack(SignalState& state, std::span<uint8_t> stack, void* ucontext);
// The same for the calling thread, not in the handler.
void look_at_alternate_stack(const SignalState& state);
// At the end of a thread, by itself, after its clock is disarmed and before another thread can have
// the slot: gives the stack back. False when the thread stands on it: the slot must stay taken.
bool release_thread_signals(SignalState& state);

// Whether any thread of the program has an alternate stack that is too small for a frame of ours below a handler of the
// program's.
bool program_has_small_alternate_stacks();
bool on_small_alternate_stack(const SignalState& state);

// sigaltstack as the program knows it: 0 or a negative errno. `state`: null for a thread without a
// slot, or when the shim does not act.
int change_alternate_stack(SignalState* state, const stack_t* wanted, stack_t* before);

}  // namespace sampan::preload

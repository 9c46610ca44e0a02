// What a handler of the program's sees of its thread's mask, and what it changes there. The kernel's mask lacks the hidden
// signals (sampling_signal.h). So while a handler runs, the mask in its frame has the program's own bits, and what the handler
// leaves there counts, as the kernel would have it.
//
// Jumps restore a mask that the C library has saved: the kernel's. What the program believes of the hidden signals is kept
// beside it, in words of the saved set that no one uses.
//
// Freestanding: linked into the target. Async-signal-safe.
#pragma once

#include <signal.h>

#include <cstdint>

#include "preload/signals/sampling_signal.h"
#include "preload/signals/signal_action.h"

// The functions that the kernel calls, or that call the program's handlers, lie together: their frames are left out of
// stacks (without_handlers).
#define SAMPAN_HANDLER __attribute__((noinline, section("sampan_handlers")))

namespace sampan::preload {

// Calls the handler of `action` with the frame that the kernel has made. For the calling thread's state. `level`: of
// take_action.
void call_handler(const ProgramAction& action, uint8_t level, SignalState& state, int signo,
                  siginfo_t* info, void* ucontext);
// Whether the pc is one of our handlers'.
bool is_in_handler(uint64_t pc);
// Takes the frames of our handlers out of a stack; returns how many are left.
uint32_t without_handlers(uint64_t* frames, uint32_t depth);

// The mask of a call that waits under it (sigsuspend, ppoll). A handler's frame has the one from before the call.
class TemporaryMask {
 public:
  TemporaryMask(SignalState& state, uint64_t hidden);
  ~TemporaryMask();
  TemporaryMask(const TemporaryMask&) = delete;
  TemporaryMask& operator=(const TemporaryMask&) = delete;

 private:
  SignalState& state_;
};

// Where the C library is about to save the mask.
void keep_view(const SignalState& state, sigset_t& saved);
// It is about to restore the mask, or null: the thread keeps the one that it has.
void restore_view(SignalState& state, const sigset_t* saved);
// Whether there has been anything to keep.
bool views_differ();

}  // namespace sampan::preload

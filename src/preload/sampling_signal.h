// The signal that the clocks of this process send, and everything that keeps it apart from the
// program's own signals. It is SIGPROF, until the program uses SIGPROF for itself: then sampling
// moves to a spare real-time signal and the program has SIGPROF for its own, as without us.
//
// The program never sees the sampling signal: it is left out of masks that go to the kernel and
// given back in those that come from it, left out of sigwait and signalfd sets, and a handler that
// the program sets on it makes sampling move.
//
// Freestanding: linked into the target.
#pragma once

#include <signal.h>

#include <cstdint>

namespace sampan::preload {

// What a sampling signal carries in si_value (CPU timers), so that it is told from one that the
// program or somebody else sent: kCookie in the upper half, the slot's index in the lower.
inline constexpr uint64_t kCookie = 0x73616d70ull << 32;

// The signal's number now. Async-signal-safe.
int sampling_signal();

// Start-up: installs the kernel handler. It calls sample() (handler.h) for signals that are ours
// and acts for the program on those that are not.
bool start_sampling_signal();

struct SignalState {                // of one thread; zero-filled is right for a new thread
  bool program_blocks;              // the program believes that it has blocked the sampling signal
  stack_t program_alternate_stack;  // what the program believes its alternate stack to be
  bool has_alternate_stack;         // the kernel holds ours
};

// In a thread that is to be sampled, by itself, before its clock is armed: unblocks the sampling
// signal, keeps what the program believes, gives the thread an alternate stack of ours.
void adopt_thread_signals(SignalState& state, void* alternate_stack, size_t size);

}  // namespace sampan::preload

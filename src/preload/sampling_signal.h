// The signal that the clocks of this process send, and everything that keeps it apart from the
// program's own signals. It is SIGPROF, until the program uses SIGPROF for itself: then sampling
// moves to a spare signal and the program has SIGPROF for its own, as without us.
//
// The program never sees the sampling signal: it is left out of masks that go to the kernel and
// given back in those that come from it, left out of sigwait and signalfd sets, and a handler that
// the program sets on it makes sampling move. How, and what was measured: docs/signals.md.
//
// Freestanding: linked into the target.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace sampan::preload {

// What a sampling signal carries in si_value (CPU timers), so that it is told from one that the
// program or somebody else sent: kCookie in the upper half, the slot's index in the lower.
inline constexpr uint64_t kCookie = 0x73616d70ull << 32;

// The signal's number now. Async-signal-safe.
int sampling_signal();

// Start-up: installs the kernel handler. It calls sample() (handler.h) for signals that are ours
// and acts for the program on those that are not. Every other signal is blocked while it runs.
bool start_sampling_signal();

struct SignalState {             // of one thread; zero-filled is right for a new thread
  std::atomic<uint64_t> hidden;  // signals that the program believes to be blocked here, and that
                                 // are not: bit n-1 for signal n
  stack_t program_alternate_stack;  // what the program set; ss_size 0: nothing
  stack_t our_alternate_stack;      // ss_size 0: none
  bool kernel_has_ours;
};

// What a new thread inherits of its creator's signals beyond what the kernel copies. Taken by the
// creator, before pthread_create; attributes may be null.
uint64_t hidden_signals_for(const pthread_attr_t* attributes);

// In a thread that is to be sampled, by itself, before its clock is armed: unblocks the sampling
// signal, keeps what the program believes, gives the thread an alternate stack of ours.
void adopt_thread_signals(SignalState& state, uint64_t inherited_hidden, void* alternate_stack,
                          size_t size);
// At the end of such a thread, by itself, after its clock is gone and before its slot can go to
// another thread: gives the alternate stack back. False when the thread stands on it: the slot must
// then stay taken.
bool release_thread_signals(SignalState& state);
// At a thread's first sample, in the handler, for threads that were found by scan: the kernel takes
// the alternate stack from the signal frame on return.
void adopt_thread_signals_in_handler(SignalState& state, void* alternate_stack, size_t size,
                                     void* ucontext);

// Around exec and posix_spawn, by the calling thread: the new image inherits the mask that the
// program set. No memory but the thread's own state is touched, so a vfork child may call it.
void show_program_mask_to_kernel();
void hide_program_mask_again();

// In the child of a fork, before anything else of this header.
void sampling_signal_after_fork();

}  // namespace sampan::preload

// The signal that the clocks of this process send, kept apart from the program's own signals. It is
// SIGPROF until the program uses SIGPROF itself. Then sampling moves to a spare signal, and SIGPROF
// is the program's as without us. See docs/signals.md.
//
// At any time two signals are hidden from the program: the sampling signal and the spare. The kernel
// never has them blocked, because a thread that slept with the spare blocked could not be sampled
// after a move. Each thread's SignalState::hidden remembers which of them the program has blocked.
// When sampling moves, the signal that it leaves is the program's: bits of `hidden` that are no
// hidden signals any more are stale, and the thread itself blocks them in the kernel
// (settle_hidden).
//
// Functions that take a SignalState are for the calling thread's own. Freestanding: linked into the
// target.
#pragma once

#include <signal.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "preload/clocks/clock.h"
#include "preload/support/signal_set.h"
#include "preload/support/spin_lock.h"

namespace sampan::preload {

// A signal has been hidden in some thread, at some time.
inline constinit std::atomic<bool> any_hidden = false;

// The signals of one thread. Zeroes are right for a new thread.
struct SignalState {
  std::atomic<uint64_t> hidden;     // blocked in the program's view but not in the kernel's
  stack_t program_alternate_stack;  // what the program set, as far as seen; ss_size 0: nothing
  stack_t our_alternate_stack;      // ss_size 0: none
  bool stack_waits;                 // the program's is to be given to the kernel, which has ours
  uint64_t
      added;  // blocked in the kernel while a handler of the program's runs, but not in the program's view
  uint64_t outer_hidden;    // `hidden` of the mask from before a call that waits under another one
  bool has_temporary_mask;  // such a call is under way
  uint8_t level;            // of the handlers that run, how many call those that they have replaced
  uint64_t running;         // signals whose handlers run

  void set_hidden(uint64_t signals) {
    if (signals != 0) any_hidden.store(true, std::memory_order_relaxed);
    hidden.store(signals, std::memory_order_relaxed);
  }
};

using SignalHandler = void (*)(int, siginfo_t*, void*);

// What the kernel calls: for signals that sampling uses or has used, and for others with a handler of the program's, by
// the signal.
struct KernelHandlers {
  SignalHandler shared;
  const SignalHandler* program;
};

// Start-up: chooses the signal and installs the shared handler for it in the kernel, with all other
// signals blocked while it runs. False when no signal is left. `from_outside`: the drummer sends it, perhaps
// to an image that has just replaced this one. Then it is one that does nothing by default.
bool start_sampling_signal(const KernelHandlers& handlers, bool from_outside);
// In the child of a fork, before anything else of this header.
void sampling_signal_after_fork();

// Whether the signal functions are to act: sampling has started, and in this process. False in the
// child of a vfork or a raw clone, which shares or copies our memory.
bool signals_active();

// Signal sets have bit n-1 for signal n.
uint64_t hidden_signals();

// Held while dispositions change, or the signal that sampling uses. All signals are blocked
// meanwhile, so a handler that wants the lock never finds its own thread holding it.
class SignalLock {
 public:
  SignalLock();
  ~SignalLock();
  SignalLock(const SignalLock&) = delete;
  SignalLock& operator=(const SignalLock&) = delete;

 private:
  SignalsBlocked blocked_;
};

// Moves sampling, or its spare, away from these signals. True when the sampling signal is another
// one now: the caller arms all clocks again, and reinstalls the program's handlers. Where no spare
// is left, the signal is shared, and the kernel handler tells ours apart. SignalLock held.
bool move_sampling(uint64_t signals);

// The program waits for these signals by sigwait or signalfd: none of them becomes a spare.
void note_waited(uint64_t signals);

// In a forked child, which may reset its actions by system calls that nothing here sees, as Chromium's
// zygote does: sampling moves to a signal that does nothing by default, until the child executes.
// SignalLock need not be held, as there is one thread. The caller reinstalls the program's handlers.
void move_sampling_after_fork();
// The kernel's mask for a program's thread that had `kernel_mask` before the move; sets `hidden`.
uint64_t hide_after_fork(SignalState& state, uint64_t kernel_mask);

// Whether a clock may be armed: a signal that found another action than ours could end the process.
// Async-signal-safe.
bool owns_sampling_signal();

// Blocks stale signals in the kernel and drops late signals of ours.
void settle_hidden(SignalState& state);
// Drops pending signals of ours among these, which are blocked.
void drop_pending(uint64_t signals);
// Queues `info` again as it came, for this thread or for any thread that takes it.
void send_again(int signo, siginfo_t* info);

// A foreign signal with the sampling signal's number came while the program had it blocked. It is
// held until the program unblocks it.
void hold_signal();
bool has_held_signal();
// True once for each held signal.
bool take_held_signal();
// To be called when the program may have unblocked the sampling signal: sends the held signal.
void deliver_held(const SignalState* state);

}  // namespace sampan::preload

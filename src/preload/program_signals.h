// What the signal interposers share: which signals are kept from the kernel's masks, and what the
// program believes about them.
//
// At any time two signals are hidden: the one that sampling uses, and the spare that it would move
// to next. The kernel never has them blocked (a thread that slept with the spare blocked could not
// be sampled after a move); each thread's SignalState::hidden remembers which of them the program
// has blocked. When sampling moves, the signal it leaves is the program's: bits of `hidden` that
// are not hidden signals any more are stale, and made true by the thread itself (settle_hidden).
//
// Freestanding: linked into the target.
#pragma once

#include <signal.h>

#include <cstdint>

#include "preload/signal_set.h"
#include "preload/spin_lock.h"
#include "preload/threads.h"

namespace sampan::preload {

// Whether to act at all: sampling has started, and this is the process that it started in (not the
// child of a vfork or a raw clone, which shares or copies our memory and has nothing else of ours).
bool signals_active();

uint64_t hidden_signals();

// Whether a signal of this number was sent by a clock of ours. Async-signal-safe.
bool is_sampling_signal(const siginfo_t& info);

// Held by what changes dispositions, or where sampling signals go. All signals are blocked
// meanwhile, so that a handler that asks for the lock never finds it taken by its own thread.
class SignalLock {
 public:
  SignalLock();
  ~SignalLock();
  SignalLock(const SignalLock&) = delete;
  SignalLock& operator=(const SignalLock&) = delete;

 private:
  SignalsBlocked blocked_;
};

// The program wants these signals for itself: sampling moves away from them. Where no spare signal
// is left, they are shared: the kernel handler tells them apart. SignalLock held.
void give_to_program(uint64_t signals);
// The same, of a set to wait for (sigwait, signalfd). Takes the lock. Returns the set without the
// signals that stay hidden. A set of most signals is not taken for a wish to have a spare one.
uint64_t give_waited_to_program(uint64_t waited);

// The calling thread's signals; null where it has no slot.
SignalState* current_signals();
// Blocks in the kernel what is stale in `hidden`, and throws away late signals of ours.
void settle_hidden(SignalState& state);
// Throws away pending signals of ours from among these, which are blocked.
void drop_pending(uint64_t signals);
// To call when the program may have unblocked the sampling signal: one that somebody else sent
// while it was blocked is delivered now.
void deliver_held(const SignalState* state);
bool has_held_signal();

// --- signal_action.cpp

// Whether sampling uses the signal, or did: its kernel handler is ours, and calls the program's.
bool is_shared_signal(int signo);
void share_signal(int signo);
// The handler that the program set for a shared signal (or SIG_DFL, SIG_IGN), for one call:
// SA_RESETHAND is acted on. Async-signal-safe.
uintptr_t take_shared_handler(int signo);
// Installs the kernel handler for a shared signal, for what the program set there. Lock held.
void install_shared_handler(int signo);
// Installs every handler of the program again, after hidden_signals() or the alternate stacks have
// changed. Lock held.
void reinstall_program_handlers();
// The kernel's own default action, from now on. Async-signal-safe.
void set_default_action(int signo);
bool has_default_action(int signo);

void sampling_handler(int signo, siginfo_t* info, void* ucontext);

// --- alternate_stack.cpp

bool program_has_alternate_stacks();
// Too small for a frame of ours below a handler of the program's.
bool program_has_small_alternate_stacks();
bool on_small_alternate_stack(const SignalState& state);
// What the handler uses below a signal frame, with a margin.
inline constexpr size_t kHandlerSize = 3 << 10;

// --- signal_wait.cpp, jump.cpp

// At start-up: finds the originals of what a handler of the program may call.
void look_up_waits();
void look_up_jumps();

}  // namespace sampan::preload

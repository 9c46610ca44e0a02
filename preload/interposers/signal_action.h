// sigaction, signal and the like, and how signals are given to the program when it wants them.
//
// Freestanding: linked into the target.
#pragma once

#include <signal.h>

#include <cstdint>

namespace sampan::preload {

// At start-up: looks up the originals of what a signal handler of the program may call.
void look_up_signal_functions();

// sigaction, as the program knows it.
int change_action(int signo, const struct sigaction* wanted, struct sigaction* before);

// The program wants these signals for itself: sampling moves away from them. SignalLock held.
void give_to_program(uint64_t signals);
// The same for a set that the program waits for (sigwait, signalfd); takes the lock. Returns the
// set without the signals that stay hidden. A set of more than half of all signals does not claim the
// spare one.
uint64_t give_waited_to_program(uint64_t waited);

}  // namespace sampan::preload

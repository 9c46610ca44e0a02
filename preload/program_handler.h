// Signals of the program's: what it would see of them without us.
//
// Async-signal-safe. Freestanding: linked into the target.
#pragma once

#include <signal.h>

#include "preload/signals/sampling_signal.h"

namespace sampan::preload {

// What the kernel calls for a signal that sampling has never used, and that the program has a handler for. One for each signal:
// a program that reads its action by a system call that nothing here sees may call it, or set it for another signal.
extern const SignalHandler program_handlers[kSignalCount + 1];
// A signal that sampling uses or has used, and that is not ours.
void act_for_program(int signo, siginfo_t* info, void* ucontext);

}  // namespace sampan::preload

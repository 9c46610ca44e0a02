// The signal handler that the kernel calls, for samples and for foreign signals of the same number.
//
// Async-signal-safe: no lock, no allocation, no call into the loader. A sample uses at most 2 KB of
// stack with its walk, on AArch64 3 KB. tests/preload/handler_closure.py lists all that may be reached from here.
//
// Freestanding: linked into the target.
#pragma once

#include <signal.h>

namespace sampan::preload {

// All signals are blocked. A signal that one of our clocks sent takes a sample of its thread, if the
// thread has a slot. For any other signal the program gets what it would see without us.
void sampling_handler(int signo, siginfo_t* info, void* ucontext);

}  // namespace sampan::preload

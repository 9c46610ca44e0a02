// One sample: what the kernel handler of sampling_signal.cpp calls for a signal of ours.
//
// Freestanding: linked into the target. Async-signal-safe, within 2 KB of stack with the walk.
#pragma once

#include <signal.h>

namespace sampan::preload {

// All signals are blocked. `ucontext` is the handler's third argument. Keeps errno. Does nothing
// when the thread that `info` was sent to has no slot (any more).
void sample(const siginfo_t& info, void* ucontext);

// Whether `fd` (si_fd of a signal with si_code POLL_*) is the perf clock of a thread of this
// process (perf_clock.cpp).
bool is_our_perf_fd(int fd);

}  // namespace sampan::preload

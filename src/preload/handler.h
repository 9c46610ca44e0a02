// One sample: what the kernel handler of sampling_signal.cpp calls for a signal of ours.
//
// Freestanding: linked into the target. Async-signal-safe.
#pragma once

#include <signal.h>

namespace sampan::preload {

// All signals are blocked. `ucontext` is the handler's third argument. Keeps errno.
void sample(const siginfo_t& info, void* ucontext);

// Whether `fd` is the perf event of a thread of this process (perf_clock.cpp).
bool is_our_perf_fd(int fd);

}  // namespace sampan::preload

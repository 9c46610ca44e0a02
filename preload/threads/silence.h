// Stops clocks before the program forbids what our signals need. Ordinary context.
//
// Freestanding: linked into the target.
#pragma once

#include <cstdint>

namespace sampan::preload {

// Stops the clock; afterwards no signal of ours is pending or being handled. Returns how many clocks
// were stopped. They make system calls, also under a seccomp filter: timer_delete or munmap,
// rt_sigprocmask, rt_sigtimedwait; for all threads, those to read /proc and nanosleep, too.
uint32_t silence_this_thread();
uint32_t silence_all_threads();
// The program has allowed it again.
void end_silence_of_this_thread();

}  // namespace sampan::preload

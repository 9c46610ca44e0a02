// The clocks that send the sampling signal: each knows how to arm and disarm one thread. Threads
// are armed by themselves or by another thread that found them; the caller holds `clock_lock`.
//
// Async-signal-safe. Freestanding: linked into the target.
#pragma once

#include "preload/threads.h"

namespace sampan::preload {

// Chooses the clock for the rate: the CPU timers fire on the kernel's tick, so above that rate the
// perf clock, unless it is refused (or SAMPAN_PERF=0).
void start_clock(bool perf_allowed);

// Tells the collector which clock it is: at start, and in a forked child.
void publish_clock();

// False when the thread stays without a clock (counted).
bool arm(ThreadState& thread);
void disarm(ThreadState& thread);
// No signal during the next moments of the thread's CPU time (kMomentNs, or a period of perf).
void postpone(ThreadState& thread);

inline constexpr long kMomentNs = 100'000;

bool uses_perf_clock();

// One clock, one file.
bool arm_cpu_timer(ThreadState& thread);  // cpu_timer.cpp
void disarm_cpu_timer(ThreadState& thread);
void postpone_cpu_timer(ThreadState& thread);
bool start_perf_clock();  // perf_clock.cpp: false when the kernel refuses
bool arm_perf(ThreadState& thread);
void disarm_perf(ThreadState& thread);

}  // namespace sampan::preload

// The clocks that send the sampling signal: each knows how to arm and disarm one thread. Threads
// are armed by themselves or by another thread that found them; the caller holds `clock_lock`.
//
// The rate may change at any time (ControlBlock::rate_hz). A thread follows by itself at its next
// sample: so threads that sleep cost nothing, and each is late by at most its old period of CPU.
//
// Async-signal-safe. Freestanding: linked into the target.
#pragma once

#include "preload/threads.h"

namespace sampan::preload {

// For each rate a clock: the CPU timers fire on the kernel's tick, so above that rate the perf
// clock, unless it is not allowed (SAMPAN_PERF=0) or refused.
void start_clock(bool perf_allowed);

// Tells the collector which clock it is: at start, and in a forked child.
void publish_clock();

// With the rate that is asked for now. False when the thread stays without a clock (counted).
bool arm(ThreadState& thread);
void disarm(ThreadState& thread);
// No signal during the next moments of the thread's CPU time (kMomentNs, or a period of perf).
void postpone(ThreadState& thread);
// In the handler, by the thread itself, without `clock_lock`: gives its clock the rate that is
// asked for now.
void follow_rate(ThreadState& thread);

inline constexpr uint64_t kMomentNs = 100'000;

// Of the thread's clock.
inline uint64_t period_ns(const ThreadState& thread) {
  return 1'000'000'000 / (thread.rate_hz != 0 ? thread.rate_hz : 1);
}

// Some thread may have it.
bool uses_perf_clock();

// One clock, one file.
bool arm_cpu_timer(ThreadState& thread);  // cpu_timer.cpp
bool set_cpu_timer(ThreadState& thread);  // of one that is armed, to the thread's rate
void disarm_cpu_timer(ThreadState& thread);
void postpone_cpu_timer(ThreadState& thread);
bool start_perf_clock();  // perf_clock.cpp: false when the kernel refuses
bool arm_perf(ThreadState& thread);
void disarm_perf(ThreadState& thread);

}  // namespace sampan::preload

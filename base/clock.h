// The two clocks of a sample. Both are async-signal-safe; times are in nanoseconds.
//
// Freestanding: linked into the target.
#pragma once

#include <time.h>

#include <atomic>
#include <cstdint>

#include "base/syscall.h"
#include "base/time.h"

namespace sampan {

// Set in a program that forbids its threads to read the CPU's clock (PR_SET_TSC): what the vDSO does
// would be fatal there, a system call is not.
inline constinit std::atomic<bool> clocks_by_system_call = false;

inline uint64_t read_clock_ns(clockid_t clock) {
  timespec now{};
  if (clocks_by_system_call.load(std::memory_order_relaxed)) {
    raw_syscall(SYS_clock_gettime, clock, &now);
  } else {
    clock_gettime(clock, &now);
  }
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// The session's time line: shared by all processes of a machine (vDSO, no system call).
inline MonotonicNs monotonic_ns() {
  return MonotonicNs::at(read_clock_ns(CLOCK_MONOTONIC));
}

inline UnixNs unix_now_ns() {
  return UnixNs::at(read_clock_ns(CLOCK_REALTIME));
}

// CPU time of one thread of this process, by its tid: the kernel's encoding of a per-thread clock
// (include/linux/posix-timers_types.h: ~tid << 3 | CPUCLOCK_PERTHREAD_MASK | CPUCLOCK_SCHED).
constexpr clockid_t thread_cpu_clock(int tid) {
  return static_cast<clockid_t>((~static_cast<unsigned>(tid) << 3) | 6u);
}

}  // namespace sampan

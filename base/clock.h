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
// would be fatal there, a system call is not. Set outside, too: there the function of the C library may be another's, faketime's.
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

// How far CLOCK_MONOTONIC is ahead of the machine's in this process: the offset of its time namespace (time_namespace.h).
inline constinit std::atomic<int64_t> monotonic_ahead_ns = 0;

// What this process reads of CLOCK_MONOTONIC, by the clock of the machine.
inline MonotonicNs of_machine(uint64_t own_ns) {
  return MonotonicNs::at(own_ns -
                         static_cast<uint64_t>(monotonic_ahead_ns.load(std::memory_order_relaxed)));
}

// The session's time line: shared by all processes of a machine (in them by vDSO, without a system call).
inline MonotonicNs monotonic_ns() {
  return of_machine(read_clock_ns(CLOCK_MONOTONIC));
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

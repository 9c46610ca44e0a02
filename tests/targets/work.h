// What the target programs burn their CPU with. Nothing here knows of sampan: they are programs as
// other people write them, and print what a test should then find in the profile.
#pragma once

#include <time.h>

#include <cstdint>

namespace work {

inline double cpu_seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}
inline double thread_cpu() {
  return cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
}
inline double process_cpu() {
  return cpu_seconds(CLOCK_PROCESS_CPUTIME_ID);
}
inline double wall() {
  return cpu_seconds(CLOCK_MONOTONIC);
}

// A fixed number of steps whose result cannot be guessed. Always inlined: the time belongs to the
// caller.
__attribute__((always_inline)) inline uint64_t spin(uint64_t seed, uint64_t steps) {
  for (uint64_t i = 0; i < steps; ++i) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    asm volatile("" : "+r"(seed));
  }
  return seed;
}

// Uses this much of the calling thread's CPU.
__attribute__((noinline)) inline uint64_t burn(double seconds) {
  const double end = thread_cpu() + seconds;
  uint64_t value = 88172645463325252ull;
  while (thread_cpu() < end) value = spin(value, 20000);
  return value;
}

}  // namespace work

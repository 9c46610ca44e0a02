// How the target programs use CPU and read clocks. Nothing here knows of sampan: the targets are
// programs as others write them, and print what a test should find in the profile.
#pragma once

#include <time.h>

#include <cstdint>
#include <cstdio>

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

// How long the calling thread has waited for a CPU, in seconds; 0 if the kernel does not say.
inline double queued() {
  FILE* file = std::fopen("/proc/thread-self/schedstat", "r");
  if (file == nullptr) return 0;
  unsigned long long on_cpu = 0, queued = 0;
  if (std::fscanf(file, "%llu %llu", &on_cpu, &queued) != 2) queued = 0;
  std::fclose(file);
  return static_cast<double>(queued) * 1e-9;
}

// A fixed number of steps that the compiler cannot precompute. Always inlined, so that the time
// belongs to the caller.
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

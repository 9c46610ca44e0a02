#include "preload/clock.h"

#include <time.h>

#include "preload/process.h"
#include "wire/control_block.h"

namespace sampan::preload {
namespace {

bool above_tick;  // the rate is beyond what CPU timers can do
bool perf_clock;

// The kernel's tick per second, from the clock that counts in ticks.
uint64_t kernel_hz() {
  timespec resolution{};
  if (clock_getres(CLOCK_MONOTONIC_COARSE, &resolution) != 0 || resolution.tv_nsec == 0) return 250;
  return 1'000'000'000 / static_cast<uint64_t>(resolution.tv_nsec);
}

}  // namespace

void start_clock(bool perf_allowed) {
  above_tick = this_process.rate_hz > kernel_hz();
  perf_clock = above_tick && perf_allowed && start_perf_clock();
  publish_clock();
}

void publish_clock() {
  wire::control_block(this_process.shared)->perf_clock.store(perf_clock, std::memory_order_relaxed);
}

bool uses_perf_clock() {
  return perf_clock;
}

bool arm(ThreadState& thread) {
  // Under a seccomp filter that was there before the thread, none of our calls is safe.
  if (this_process.seccomp_filtered.load(std::memory_order_relaxed)) {
    count_loss(wire::Loss::kThreadSeccomp);
    return false;
  }
  if (perf_clock && arm_perf(thread)) return true;
  if (above_tick) count_loss(wire::Loss::kPerfRefused);
  if (arm_cpu_timer(thread)) return true;
  count_loss(wire::Loss::kThreadNoTimer);
  return false;
}

void disarm(ThreadState& thread) {
  if (this_process.seccomp_filtered.load(std::memory_order_relaxed)) return;
  disarm_perf(thread);
  disarm_cpu_timer(thread);
}

void postpone(ThreadState& thread) {
  if (this_process.seccomp_filtered.load(std::memory_order_relaxed)) return;
  postpone_cpu_timer(thread);
  if (thread.perf_page == nullptr) return;
  disarm_perf(thread);
  arm_perf(thread);
}

}  // namespace sampan::preload

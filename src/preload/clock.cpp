#include "preload/clock.h"

#include <time.h>

#include "preload/process.h"
#include "wire/control_block.h"

namespace sampan::preload {
namespace {

enum class Perf { kRefused, kUntried, kUsable };
std::atomic<Perf> perf{Perf::kRefused};

// The kernel's tick per second, from the clock that counts in ticks: what CPU timers can do.
uint32_t kernel_hz() {
  timespec resolution{};
  if (clock_getres(CLOCK_MONOTONIC_COARSE, &resolution) != 0 || resolution.tv_nsec == 0) return 250;
  return static_cast<uint32_t>(1'000'000'000 / resolution.tv_nsec);
}
uint32_t tick_hz;

// The memory may have been overwritten.
uint32_t asked_rate() {
  const uint32_t rate =
      wire::control_block(this_process.shared)->rate_hz.load(std::memory_order_relaxed);
  return rate == 0 ? 1 : rate < wire::kHighestRateHz ? rate : wire::kHighestRateHz;
}

bool perf_is_usable() {
  if (perf.load(std::memory_order_relaxed) == Perf::kUntried) {
    perf.store(start_perf_clock() ? Perf::kUsable : Perf::kRefused, std::memory_order_relaxed);
    publish_clock();
  }
  return perf.load(std::memory_order_relaxed) == Perf::kUsable;
}

// Counted once for each time that a thread goes above what its clock can do.
bool set_rate(ThreadState& thread) {
  const uint32_t before = thread.rate_hz;
  thread.rate_hz = asked_rate();
  wire::thread_slot(this_process.shared, thread.slot)
      ->rate_hz.store(thread.rate_hz, std::memory_order_relaxed);
  if (thread.rate_hz <= tick_hz) return false;
  if (perf_is_usable()) return true;
  if (before <= tick_hz) count_loss(wire::Loss::kPerfRefused);
  return false;
}

// Arms or sets the clock for the rate before the other kind goes: if that fails, there is one
// still.
void set_clock(ThreadState& thread) {
  if (set_rate(thread)) {
    disarm_perf(thread);
    if (arm_perf(thread)) {
      disarm_cpu_timer(thread);
      return;
    }
    count_loss(wire::Loss::kPerfRefused);
  }
  if (thread.timer >= 0 ? set_cpu_timer(thread) : arm_cpu_timer(thread)) {
    disarm_perf(thread);
  } else if (thread.perf_page == nullptr) {
    count_loss(wire::Loss::kThreadNoTimer);
  }
}

}  // namespace

void start_clock(bool perf_allowed) {
  tick_hz = kernel_hz();
  perf.store(perf_allowed ? Perf::kUntried : Perf::kRefused, std::memory_order_relaxed);
}

void publish_clock() {
  wire::control_block(this_process.shared)
      ->perf_clock.store(uses_perf_clock(), std::memory_order_relaxed);
}

bool uses_perf_clock() {
  return perf.load(std::memory_order_relaxed) == Perf::kUsable;
}

bool arm(ThreadState& thread) {
  // Under a seccomp filter that was there before the thread, none of our calls is safe.
  if (this_process.seccomp_filtered.load(std::memory_order_relaxed)) {
    count_loss(wire::Loss::kThreadSeccomp);
    return false;
  }
  if (set_rate(thread)) {
    if (arm_perf(thread)) return true;
    count_loss(wire::Loss::kPerfRefused);
  }
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

void follow_rate(ThreadState& thread) {
  if (asked_rate() == thread.rate_hz ||
      this_process.seccomp_filtered.load(std::memory_order_relaxed) ||
      this_process.executing.load(std::memory_order_relaxed)) {
    return;
  }
  if (!thread.clock_lock.try_lock()) return;  // at the next sample, then
  const bool armed = thread.timer >= 0 || thread.perf_page != nullptr;
  if (armed && thread_in_slot(thread.slot) == &thread) set_clock(thread);
  thread.clock_lock.unlock();
}

}  // namespace sampan::preload

#include "preload/clocks/clock.h"

#include "preload/process/process.h"
#include "wire/control_block.h"

namespace sampan::preload {
namespace {

// Tried in this order. The first one is always usable.
constexpr HandlerClock kInHandler[] = {
    {cpu_timer::highest_rate_hz, cpu_timer::arm, cpu_timer::set_rate, cpu_timer::disarm,
     cpu_timer::sent},
    {perf_clock::highest_rate_hz, perf_clock::arm, perf_clock::set_rate, perf_clock::disarm,
     perf_clock::sent},
    {drum_clock::highest_rate_hz, drum_clock::arm, drum_clock::set_rate, drum_clock::disarm,
     drum_clock::sent},
};
constexpr OrdinaryClock kOrdinary[] = {
    {cpu_timer::start, cpu_timer::postpone, cpu_timer::signals_outlive_exec},
    {perf_clock::start, perf_clock::postpone, perf_clock::signals_outlive_exec},
    {drum_clock::start, drum_clock::postpone, drum_clock::signals_outlive_exec},
};
constexpr int kClockCount = 3;
constexpr int kTimer = 0, kPerf = 1, kDrum = 2;
static_assert(sizeof kInHandler == kClockCount * sizeof(HandlerClock) &&
              sizeof kOrdinary == kClockCount * sizeof(OrdinaryClock));

// System calls may kill.
bool filtered() {
  return this_process.seccomp_filtered.load(std::memory_order_relaxed);
}

// The shared memory may have been overwritten.
uint32_t requested_rate() {
  const uint32_t rate =
      wire::control_block(this_process.shared)->rate_hz.load(std::memory_order_relaxed);
  return rate == 0 ? 1 : rate < wire::kHighestRateHz ? rate : wire::kHighestRateHz;
}

// Takes over the requested rate and returns the first clock that can do it. When none can, it is
// the first one; a loss is counted each time that a thread goes above what that one can do.
int clock_for_rate(ClockState& clock) {
  const uint32_t before = clock.rate_hz;
  clock.rate_hz = requested_rate();
  wire::thread_slot(this_process.shared, clock.slot)
      ->rate_hz.store(clock.rate_hz, std::memory_order_relaxed);
  if (clock.hidden.avoid_ns != 0) return kTimer;
  for (int i = 0; i < kClockCount; ++i) {
    if (clock.rate_hz <= kInHandler[i].highest_rate_hz()) return i;
  }
  if (before <= kInHandler[0].highest_rate_hz()) count_loss(wire::Loss::kPerfRefused);
  return 0;
}

// A larger part than this, and so many periods, are much, if chance does not explain them: on a busy
// machine, a hundredth or two of the periods end while the thread loses its CPU.
constexpr uint64_t kHiddenPart = 32;
constexpr uint64_t kHiddenPeriods = 4;
constexpr uint64_t kWindowPeriods = 4096;
// The CPU timer is used for so many times of what was hidden.
constexpr uint64_t kAvoidTimes = 64;

bool may_use_timer;

// `hidden_ns` is larger than the bound by three deviations (of a Poisson distribution).
bool is_much(const HiddenTime& hidden, uint64_t period) {
  const uint64_t part_ns = hidden.passed_ns / kHiddenPart;
  const uint64_t bound_ns = part_ns + kHiddenPeriods * period;
  if (hidden.hidden_ns <= bound_ns) return false;
  const uint64_t periods = (hidden.hidden_ns - bound_ns) / period;
  return periods > kWindowPeriods || periods * periods * period > 9 * part_ns;
}

// Whether another clock shall be armed, after a signal at `cpu_ns`.
bool follow_hidden_time(ClockState& clock, uint64_t cpu_ns) {
  HiddenTime& hidden = clock.hidden;
  const uint64_t before_ns = hidden.last_cpu_ns;
  hidden.last_cpu_ns = cpu_ns;
  if (before_ns == 0 || cpu_ns < before_ns) return false;
  const uint64_t passed_ns = cpu_ns - before_ns;
  if (hidden.avoid_ns != 0) {
    hidden.avoid_ns -= passed_ns < hidden.avoid_ns ? passed_ns : hidden.avoid_ns;
    return hidden.avoid_ns == 0;
  }
  // A perf event does not say how many periods it missed. A drummer does, and may also be late itself, which hides nothing.
  const uint64_t missed = clock.armed == kDrum ? drum_clock::take_missed(clock) : UINT32_MAX;
  if (!has_timer_beside(clock) || !may_use_timer) return false;
  const uint64_t period = period_ns(clock);
  hidden.passed_ns += passed_ns;
  if (passed_ns > period + period / 2) {
    const uint64_t late_ns = passed_ns - period, missed_ns = missed * period;
    hidden.hidden_ns += missed_ns < late_ns ? missed_ns : late_ns;
  }
  const bool avoids = is_much(hidden, period);
  if (avoids) hidden.avoid_ns = kAvoidTimes * hidden.hidden_ns;
  if (avoids || hidden.passed_ns > kWindowPeriods * period) {
    hidden.passed_ns = hidden.hidden_ns = 0;
  }
  return avoids;
}

// The new clock is armed before the old one goes. When that fails, the old one stays, unless it is
// the same one.
bool change_to(ClockState& clock, int wanted) {
  const int before = clock.armed;
  if (before == wanted) {
    clock.hidden.last_cpu_ns = 0;
    if (kInHandler[wanted].set_rate(clock)) return true;
    clock.armed = kNoClock;
    return false;
  }
  if (!kInHandler[wanted].arm(clock)) return false;
  clock.armed = wanted;
  clock.hidden.last_cpu_ns = 0;
  if (before != kNoClock) kInHandler[before].disarm(clock);
  return true;
}

// False when no clock is armed (counted).
bool set_clock(ClockState& clock) {
  const int wanted = clock_for_rate(clock);
  if (change_to(clock, wanted)) return true;
  if (wanted != 0) {
    count_loss(wire::Loss::kPerfRefused);
    if (change_to(clock, 0)) return true;
  }
  if (clock.armed != kNoClock) return true;
  count_loss(wire::Loss::kThreadNoTimer);
  return false;
}

}  // namespace

void start_clocks(bool perf_allowed, bool always_fast) {
  may_use_timer = !always_fast;
  for (const OrdinaryClock& clock : kOrdinary) clock.start(perf_allowed);
}

bool arm_clock(ClockState& clock) {
  // Under a seccomp filter that is older than the thread, none of our calls is safe.
  if (filtered()) {
    count_loss(wire::Loss::kThreadSeccomp);
    return false;
  }
  clock.hidden = {};
  return set_clock(clock);
}

bool stop_clock(ClockState& clock) {
  if (clock.armed == kNoClock) return false;
  kInHandler[clock.armed].disarm(clock);
  clock.armed = kNoClock;
  return true;
}

void disarm_clock(ClockState& clock) {
  if (!filtered()) stop_clock(clock);
}

void postpone_clock(ClockState& clock) {
  clock.hidden.last_cpu_ns = 0;
  if (filtered() || clock.armed == kNoClock || kOrdinary[clock.armed].postpone(clock)) return;
  clock.armed = kNoClock;
  count_loss(wire::Loss::kPerfRefused);
  if (!change_to(clock, 0)) return count_loss(wire::Loss::kThreadNoTimer);
  kOrdinary[0].postpone(clock);
}

void follow_clock(ClockState& clock, uint64_t cpu_ns) {
  const bool changes = (cpu_ns != 0 && follow_hidden_time(clock, cpu_ns)) ||
                       (clock.armed == kDrum && drum_clock::is_lost(clock));
  if ((!changes && requested_rate() == clock.rate_hz) || filtered() ||
      this_process.executing.load(std::memory_order_relaxed)) {
    return;
  }
  if (!clock.lock.try_lock()) return;  // the next sample tries again
  if (clock.armed != kNoClock) set_clock(clock);
  clock.hidden.last_cpu_ns = cpu_ns;
  clock.lock.unlock();
}

void forget_clock(ClockState& clock) {
  clock.armed = kNoClock;
  clock.lock.unlock();
}

bool has_timer_beside(const ClockState& clock) {
  return clock.armed == kPerf || clock.armed == kDrum;
}

bool sent_by_clock(const siginfo_t& info) {
  // Unrolled, so that a sample makes no call through a pointer for it.
#pragma GCC unroll 8
  for (int i = 0; i < kClockCount; ++i) {
    if (kInHandler[i].sent(info)) return true;
  }
  return false;
}

bool clock_signals_outlive_exec() {
  for (const OrdinaryClock& clock : kOrdinary) {
    if (clock.signals_outlive_exec()) return true;
  }
  return false;
}

}  // namespace sampan::preload

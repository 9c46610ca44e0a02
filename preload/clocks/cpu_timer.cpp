#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/syscall.h"
#include "preload/clocks/clock.h"
#include "preload/support/interpose.h"

namespace sampan::preload::cpu_timer {
namespace {

// The kernel's ticks per second.
uint32_t tick_hz;

// struct sigevent as the kernel has it: some versions of glibc have no name for the thread id.
struct KernelSigevent {
  uint64_t value;
  int signo;
  int notify;
  int tid;
  char reserved[44];
};
static_assert(sizeof(KernelSigevent) == sizeof(sigevent));

timespec timespec_of(uint64_t ns) {
  return {static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
}

bool set_timer(const CpuTimer& timer, uint64_t first_ns, uint64_t period_ns) {
  itimerspec expiry{};
  expiry.it_value = timespec_of(first_ns);
  expiry.it_interval = timespec_of(period_ns);
  return raw_syscall(SYS_timer_settime, timer.id, 0, &expiry, nullptr) == 0;
}

}  // namespace

void start(bool) {
  // This clock counts in ticks.
  timespec resolution{};
  const bool known = SAMPAN_NEXT(clock_getres)(CLOCK_MONOTONIC_COARSE, &resolution) == 0 &&
                     resolution.tv_nsec != 0;
  tick_hz = known ? static_cast<uint32_t>(1'000'000'000 / resolution.tv_nsec) : 250;
}

uint32_t highest_rate_hz() {
  return tick_hz;
}

bool create(CpuTimer& timer, const ClockState& clock, uint64_t period_ns) {
  KernelSigevent event{};
  event.value = kCookie | clock.slot;
  event.signo = sampling_signal();
  event.notify = SIGEV_THREAD_ID;
  event.tid = clock.tid;
  // By raw system calls: glibc hides the ids of timers, and allocates.
  if (raw_syscall(SYS_timer_create, thread_cpu_clock(clock.tid), &event, &timer.id) != 0) {
    return false;
  }
  // It first expires at the first tick. Threads that live for less than a period would hardly ever
  // be seen otherwise.
  if (set_timer(timer, 1, period_ns)) return true;
  remove(timer);
  return false;
}

void begin_in_a_moment(const CpuTimer& timer, uint64_t period_ns) {
  set_timer(timer, kMomentNs, period_ns);
}

void remove(const CpuTimer& timer) {
  raw_syscall(SYS_timer_delete, timer.id);
}

bool arm(ClockState& clock) {
  return create(clock.cpu_timer, clock, period_ns(clock));
}

bool set_rate(ClockState& clock) {
  return set_timer(clock.cpu_timer, period_ns(clock), period_ns(clock));
}

bool postpone(ClockState& clock) {
  begin_in_a_moment(clock.cpu_timer, period_ns(clock));
  return true;
}

void disarm(ClockState& clock) {
  remove(clock.cpu_timer);
}

bool sent(const siginfo_t& info) {
  return info.si_code == SI_TIMER &&
         reinterpret_cast<uint64_t>(info.si_value.sival_ptr) >> 32 == kCookie >> 32;
}

bool signals_outlive_exec() {
  return false;
}

}  // namespace sampan::preload::cpu_timer

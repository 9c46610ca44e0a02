// The default clock: a POSIX timer on the thread's own CPU clock. The kernel looks at it on its
// tick, so it fires HZ times per CPU second at most; it never wakes a thread that sleeps.
#include <signal.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/syscall.h"
#include "preload/clock.h"
#include "preload/process.h"

namespace sampan::preload {
namespace {

// struct sigevent as the kernel has it: glibc's lacks a name for the thread id in some versions.
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

bool start_timer(int timer, uint64_t ns, uint64_t first_ns) {
  itimerspec expiry{};
  expiry.it_value = timespec_of(first_ns);
  expiry.it_interval = timespec_of(ns);
  return raw_syscall(SYS_timer_settime, timer, 0, &expiry, nullptr) == 0;
}

}  // namespace

bool arm_cpu_timer(ThreadState& thread) {
  KernelSigevent event{};
  event.value = kCookie | thread.slot;
  event.signo = sampling_signal();
  event.notify = SIGEV_THREAD_ID;
  event.tid = thread.tid;
  int timer = -1;
  // By raw system calls: glibc hides the ids of timers, and allocates.
  if (raw_syscall(SYS_timer_create, thread_cpu_clock(thread.tid), &event, &timer) != 0) {
    return false;
  }
  // The first expiry comes at the first tick, or threads that live for less than a period would
  // hardly ever be seen.
  if (!start_timer(timer, period_ns(thread), 1)) {
    raw_syscall(SYS_timer_delete, timer);
    return false;
  }
  thread.timer = timer;
  return true;
}

void postpone_cpu_timer(ThreadState& thread) {
  if (thread.timer >= 0) start_timer(thread.timer, period_ns(thread), kMomentNs);
}

bool set_cpu_timer(ThreadState& thread) {
  return start_timer(thread.timer, period_ns(thread), period_ns(thread));
}

void disarm_cpu_timer(ThreadState& thread) {
  if (thread.timer < 0) return;
  raw_syscall(SYS_timer_delete, thread.timer);
  thread.timer = -1;
}

}  // namespace sampan::preload

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <atomic>

#include "base/syscall.h"
#include "preload/clocks/clock.h"
#include "wire/control_block.h"

namespace sampan::preload::perf_clock {
namespace {

enum class Use { kRefused, kUntried, kUsable };
std::atomic<Use> use{Use::kRefused};

// The signal carries the number that the descriptor had at the time of F_SETFL. It is from the top
// of the range, so that it is no number that the program has or will get.
constexpr int kFdWindow = 64;
int lowest_fd;

constexpr size_t kPage = 4096;

struct Owner {  // f_owner_ex
  int type;
  int pid;
};
constexpr int kSetSignal = 10;   // F_SETSIG
constexpr int kSetOwnerEx = 15;  // F_SETOWN_EX
constexpr int kOwnerThread = 0;  // F_OWNER_TID

int open_event(int tid, uint64_t period_ns) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_TASK_CLOCK;
  attributes.sample_period = period_ns;
  attributes.wakeup_events = 1;
  attributes.disabled = 1;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  const long fd = raw_syscall(SYS_perf_event_open, &attributes, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
  if (fd < 0) return -1;
  const long high = raw_syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, lowest_fd);
  raw_syscall(SYS_close, fd);
  return static_cast<int>(high);
}

bool direct_to(int fd, int tid) {
  const Owner owner{kOwnerThread, tid};
  return raw_syscall(SYS_fcntl, fd, kSetSignal, sampling_signal()) == 0 &&
         raw_syscall(SYS_fcntl, fd, kSetOwnerEx, &owner) == 0 &&
         raw_syscall(SYS_fcntl, fd, F_SETFL, O_ASYNC | O_NONBLOCK) == 0;
}

// Whether the kernel allows a perf event, and where its descriptor can be.
bool try_out() {
  rlimit files{};
  if (raw_syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, nullptr, &files) != 0) return false;
  constexpr rlim_t kHighest = 1 << 20;
  const rlim_t limit = files.rlim_cur < kHighest ? files.rlim_cur : kHighest;
  if (limit < 2 * kFdWindow) return false;
  lowest_fd = static_cast<int>(limit) - kFdWindow;
  constexpr uint64_t kNeverNs = 1'000'000'000;  // it is closed at once
  const int fd = open_event(0, kNeverNs);
  if (fd < 0) return false;
  raw_syscall(SYS_close, fd);
  return true;
}

}  // namespace

void start(bool allowed) {
  use.store(allowed ? Use::kUntried : Use::kRefused, std::memory_order_relaxed);
}

uint32_t highest_rate_hz() {
  if (use.load(std::memory_order_relaxed) == Use::kUntried) {
    use.store(try_out() ? Use::kUsable : Use::kRefused, std::memory_order_relaxed);
  }
  return use.load(std::memory_order_relaxed) == Use::kUsable ? wire::kHighestRateHz : 0;
}

namespace {

bool arm_event(ClockState& clock) {
  const int fd = open_event(clock.tid, period_ns(clock));
  if (fd < 0) return false;
  long page = -1;
  if (direct_to(fd, clock.tid)) {
    page = raw_syscall(SYS_mmap, nullptr, kPage, PROT_READ, MAP_SHARED, fd, 0);
  }
  const bool mapped = page > 0 || page < -4095;
  if (mapped) {
    clock.perf_event.page = reinterpret_cast<void*>(page);
    raw_syscall(SYS_ioctl, fd, PERF_EVENT_IOC_ENABLE, 0);
  }
  raw_syscall(SYS_close, fd);
  return mapped;
}

void disarm_event(const ClockState& clock) {
  raw_syscall(SYS_munmap, clock.perf_event.page, kPage);
}

// The kernel permits fewer timers than events; an event is enough for a thread that computes in user space.
constexpr int kNoTimer = -1;

void remove_timer(const ClockState& clock) {
  if (clock.beside.id != kNoTimer) cpu_timer::remove(clock.beside);
}

}  // namespace

bool arm(ClockState& clock) {
  if (!arm_event(clock)) return false;
  if (!cpu_timer::create(clock.beside, clock, cpu_timer::kBesidePeriodNs)) {
    clock.beside.id = kNoTimer;
  }
  return true;
}

bool set_rate(ClockState& clock) {
  disarm_event(clock);
  if (arm_event(clock)) return true;
  remove_timer(clock);
  return false;
}

bool postpone(ClockState& clock) {
  if (!set_rate(clock)) return false;
  if (clock.beside.id != kNoTimer) {
    cpu_timer::begin_in_a_moment(clock.beside, cpu_timer::kBesidePeriodNs);
  }
  return true;
}

void disarm(ClockState& clock) {
  disarm_event(clock);
  remove_timer(clock);
}

bool sent(const siginfo_t& info) {
  return info.si_code >= POLL_IN && info.si_code <= POLL_HUP && signals_outlive_exec() &&
         info.si_fd >= lowest_fd && info.si_fd < lowest_fd + kFdWindow;
}

// The kernel takes back the signals of timers on exec, but not those of perf events.
bool signals_outlive_exec() {
  return use.load(std::memory_order_relaxed) == Use::kUsable;
}

}  // namespace sampan::preload::perf_clock

#include "sampler/recorder/interrupt_cost.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/file_descriptor.h"
#include "sampler/process/kernel_limits.h"

namespace sampan::sampler {
namespace {

// In ns. Reading the clock takes a tenth of the shortest gap. In a longer one than the longest
// another thread had the CPU: interrupts that took so long would leave no time between them.
constexpr uint64_t kShortest = 500, kLongest = 100'000;

constexpr int kSignal = SIGPROF;
constexpr uint64_t kInterruptPeriod = kLongest;
constexpr uint64_t kInterruptTime = 3'000'000;
constexpr int kSignals = 31;

std::atomic<size_t> handled;

// Counts the signals that come to this thread.
class Handled {
 public:
  Handled() {
    handled = 0;
    struct sigaction action {};
    action.sa_handler = [](int) { handled.fetch_add(1, std::memory_order_relaxed); };
    action.sa_flags = SA_RESTART;
    sigaction(kSignal, &action, &action_);
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, kSignal);
    pthread_sigmask(SIG_UNBLOCK, &signals, &mask_);
  }
  ~Handled() {
    pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
    sigaction(kSignal, &action_, nullptr);
  }
  Handled(const Handled&) = delete;
  Handled& operator=(const Handled&) = delete;

 private:
  struct sigaction action_ {};
  sigset_t mask_{};
};

uint64_t measure_timer() {
  std::vector<uint64_t> times;
  for (int i = 0; i < kSignals; ++i) {
    const MonotonicNs begin_ns = monotonic_ns();
    syscall(SYS_tgkill, getpid(), gettid(), kSignal);
    times.push_back(monotonic_ns() - begin_ns);
  }
  return median_of_longest(times, times.size());
}

// As the shim opens it (preload/clocks/perf_clock.cpp).
FileDescriptor open_perf_clock() {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_TASK_CLOCK;
  attributes.sample_period = kInterruptPeriod;
  attributes.wakeup_events = 1;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  return FileDescriptor(
      static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC)));
}

uint64_t measure_perf() {
  const FileDescriptor event = open_perf_clock();
  const f_owner_ex owner{F_OWNER_TID, gettid()};
  if (!event || fcntl(event.get(), F_SETSIG, kSignal) != 0 ||
      fcntl(event.get(), F_SETOWN_EX, &owner) != 0 ||
      fcntl(event.get(), F_SETFL, O_ASYNC | O_NONBLOCK) != 0) {
    return 0;
  }
  handled = 0;
  const std::vector<uint64_t> found = gaps(kInterruptTime);
  return median_of_longest(found, handled);
}

// Another thread sends signals while this one runs. On a machine with one CPU they share it: 0.
uint64_t measure_beats() {
  const pid_t tid = gettid();
  handled = 0;
  std::atomic<bool> stopping = false;
  std::thread drummer([&] {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);
    while (!stopping) {
      const timespec pause{0, kInterruptPeriod};
      nanosleep(&pause, nullptr);
      if (!stopping) syscall(SYS_tgkill, getpid(), tid, kSignal);
    }
  });
  const std::vector<uint64_t> found = gaps(kInterruptTime);
  const size_t signals = handled;
  stopping = true;
  drummer.join();
  return median_of_longest(found, signals);
}

}  // namespace

std::vector<uint64_t> gaps(uint64_t for_ns) {
  std::vector<uint64_t> found;
  found.reserve(1024);
  MonotonicNs end_ns = monotonic_ns() + for_ns;
  for (MonotonicNs last_ns = monotonic_ns(); last_ns < end_ns;) {
    const MonotonicNs now_ns = monotonic_ns();
    const uint64_t gap_ns = now_ns - last_ns;
    if (gap_ns > kLongest) {
      end_ns += gap_ns;
    } else if (gap_ns > kShortest) {
      found.push_back(gap_ns);
    }
    last_ns = now_ns;
  }
  std::sort(found.begin(), found.end(), std::greater<>());
  return found;
}

uint64_t median_of_longest(const std::vector<uint64_t>& gaps, size_t count) {
  count = std::min(count, gaps.size());
  return count == 0 ? 0 : gaps[count / 2];
}

bool perf_clock_permitted() {
  return static_cast<bool>(open_perf_clock());
}

SignalCost measure_signal_cost(Interrupts interrupts) {
  // A filter may end this process at the return from a signal; then it ends samples in the program, too.
  if (under_seccomp_filter() && !seccomp_filter_permits_samples()) return {};
  const Handled signals;
  SignalCost cost;
  cost.timer_ns = measure_timer();
  // A process that a seccomp filter keeps from perf events is drummed beside others. Its beats cost much the same.
  if (interrupts == Interrupts::kOfPerf) cost.beat_ns = cost.perf_ns = measure_perf();
  if (interrupts == Interrupts::kOfBeats) cost.beat_ns = measure_beats();
  return cost;
}

}  // namespace sampan::sampler

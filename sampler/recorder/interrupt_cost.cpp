#include "sampler/signal_cost.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <vector>

#include "base/clock.h"
#include "sampler/file_descriptor.h"
#include "sampler/gaps.h"

namespace sampan::sampler {
namespace {

constexpr int kSignal = SIGPROF;
constexpr uint64_t kPerfPeriod = 100'000;  // ns
constexpr uint64_t kPerfTime = 3'000'000;
constexpr int kSignals = 31;

std::atomic<size_t> handled;

// The signal comes to this thread, and is counted.
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
    const uint64_t begin_ns = monotonic_ns();
    syscall(SYS_tgkill, getpid(), gettid(), kSignal);
    times.push_back(monotonic_ns() - begin_ns);
  }
  return median_of_longest(times, times.size());
}

// As the shim opens it (preload/perf_clock.cpp).
uint64_t measure_perf() {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_TASK_CLOCK;
  attributes.sample_period = kPerfPeriod;
  attributes.wakeup_events = 1;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  const FileDescriptor event(
      static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC)));
  const f_owner_ex owner{F_OWNER_TID, gettid()};
  if (!event || fcntl(event.get(), F_SETSIG, kSignal) != 0 ||
      fcntl(event.get(), F_SETOWN_EX, &owner) != 0 ||
      fcntl(event.get(), F_SETFL, O_ASYNC | O_NONBLOCK) != 0) {
    return 0;
  }
  handled = 0;
  const std::vector<uint64_t> found = gaps(kPerfTime);
  return median_of_longest(found, handled);
}

}  // namespace

SignalCost measure_signal_cost(bool perf) {
  const Handled signals;
  SignalCost cost;
  cost.timer_ns = measure_timer();
  if (perf) cost.perf_ns = measure_perf();
  return cost;
}

}  // namespace sampan::sampler

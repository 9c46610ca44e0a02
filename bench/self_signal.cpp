// Measures the cost of one sample to its thread: sending itself a signal, the handler, the return.
//
//   self_signal MODE DEPTH SAMPLES
//
// MODE `empty` installs a handler that does nothing, `clock` one that reads the thread's CPU clock once. `raise`
// keeps the handler that a preloaded profiler installed for SIGPROF. `sampan` sends the signals that
// sampan's own timers send. They are sent DEPTH calls deep, in batches that fit into a ring, with pauses
// in which the collector empties it. Prints the nanoseconds per signal: the median of the batches, by the
// thread's CPU clock, so that other load of the machine does not count.
//
// It is also a library: bench/python_frames.py calls signal_cost() below Python functions.
#include <fmt/core.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "preload/clocks/clock.h"

namespace {

constexpr int kBatch = 150;
siginfo_t info_to_send;

void send_batch(bool with_info) {
  const pid_t pid = getpid();
  const pid_t tid = gettid();
  for (int i = 0; i < kBatch; ++i) {
    if (with_info) {
      syscall(SYS_rt_tgsigqueueinfo, pid, tid, SIGPROF, &info_to_send);
    } else {
      syscall(SYS_tgkill, pid, tid, SIGPROF);
    }
  }
}

// Frames that the compiler can neither merge nor turn into a loop.
[[gnu::noinline]] void at_depth(int depth, bool with_info) {
  if (depth > 0) {
    at_depth(depth - 1, with_info);
  } else {
    send_batch(with_info);
  }
  asm volatile("" ::: "memory");
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" [[gnu::visibility("default")]] double signal_cost(const char* mode_name, int depth,
                                                             int samples) {
  const std::string_view mode = mode_name;
  const int batches = std::max(1, samples / kBatch);
  if (mode == "empty" || mode == "clock") {
    struct sigaction action {};
    action.sa_handler = [](int) {};
    if (mode == "clock")
      action.sa_handler = [](int) { sampan::read_clock_ns(CLOCK_THREAD_CPUTIME_ID); };
    action.sa_flags = SA_RESTART;
    sigaction(SIGPROF, &action, nullptr);
  }
  std::memset(&info_to_send, 0, sizeof info_to_send);
  info_to_send.si_signo = SIGPROF;
  info_to_send.si_code = SI_TIMER;
  // The main thread has the first slot.
  info_to_send.si_value.sival_ptr = reinterpret_cast<void*>(sampan::preload::kCookie);

  std::vector<double> costs;
  for (int batch = 0; batch < batches; ++batch) {
    const uint64_t begin = sampan::read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    at_depth(depth, mode == "sampan");
    costs.push_back(static_cast<double>(sampan::read_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin) /
                    kBatch);
    usleep(20'000);
  }
  std::nth_element(costs.begin(), costs.begin() + costs.size() / 2, costs.end());
  return costs[costs.size() / 2];
}

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "usage: self_signal empty|clock|raise|sampan DEPTH SAMPLES\n");
    return 2;
  }
  fmt::print("{:.0f}\n", signal_cost(argv[1], std::atoi(argv[2]), std::atoi(argv[3])));
  return 0;
}

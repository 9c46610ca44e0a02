// What the kernel takes of a thread's CPU to bring it a sampling signal and to let it go on:
// nobody can read that, so it is measured when a recording begins, with signals that do nothing.
#pragma once

#include <cstdint>

namespace sampan::sampler {

struct SignalCost {
  uint64_t timer_ns = 0;  // of a CPU timer: on a tick of the kernel that comes in any case
  uint64_t perf_ns = 0;   // of a perf event, with its interrupt. 0: not measured
};

// Takes less than a tenth of a millisecond, and with `perf` three. The calling thread must be one
// that SIGPROF means nothing to.
SignalCost measure_signal_cost(bool perf);

}  // namespace sampan::sampler

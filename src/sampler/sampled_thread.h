// What the collector knows about one thread that is being sampled.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "sampler/record_decoder.h"
#include "sampler/stack_recorder.h"
#include "wire/record.h"

namespace sampan::sampler {

struct SampledThread {
  uint32_t row = recording::kNone;  // in the recording's table of threads
  int32_t tid = 0;
  uint64_t start_clock_ns = 0;  // the thread's CPU clock when sampling began
  uint64_t clock_ns = 0;        // and at its latest sample
  uint64_t weighed_ns = 0;      // the sum of its samples' weights
  StackRecorder::Previous previous;

  // The weight of a sample: the CPU since the one before. A clock that could not be read (0) is
  // taken to have moved by the sample's ticks, of `period_ns` each.
  //
  // A timer's first expiry comes at the kernel's first tick in the thread, so a thread that lives
  // for a quarter of a tick is seen once in four times. That sample stands for the three threads
  // that were not seen: it weighs a whole tick, and what was too much for this thread is taken from
  // its next samples. So threads with two samples and more have exact totals, and short ones are
  // right on the average.
  uint64_t weigh(const SampleRecord& sample, uint64_t period_ns, uint64_t kernel_tick_ns) {
    const uint64_t now = sample.cpu_ns != 0 ? sample.cpu_ns : clock_ns + sample.ticks * period_ns;
    clock_ns = std::max(clock_ns, now);
    uint64_t total_ns = used_ns(clock_ns);
    const bool by_timer = (sample.flags & wire::kSampleFromPerf) == 0;
    if (weighed_ns == 0 && by_timer) total_ns = std::max(total_ns, kernel_tick_ns);
    const uint64_t weight = total_ns > weighed_ns ? total_ns - weighed_ns : 0;
    weighed_ns += weight;
    return weight;
  }
  // CPU since sampling began, when the clock stands at `clock`.
  uint64_t used_ns(uint64_t clock) const {
    return clock > start_clock_ns ? clock - start_clock_ns : 0;
  }
};

}  // namespace sampan::sampler

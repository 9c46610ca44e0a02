// What the collector knows about one thread that is being sampled.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "sampler/record_decoder.h"
#include "sampler/stack_recorder.h"

namespace sampan::sampler {

struct SampledThread {
  uint32_t row = recording::kNone;  // in the recording's table of threads
  int32_t tid = 0;
  uint64_t start_clock_ns = 0;  // the thread's CPU clock when sampling began
  uint64_t clock_ns = 0;        // and at its latest sample
  StackRecorder::Previous previous;

  // The weight of a sample: the CPU since the one before. A clock that could not be read (0) is
  // taken to have moved by the sample's ticks, of `period_ns` each.
  uint64_t weigh(const SampleRecord& sample, uint64_t period_ns) {
    const uint64_t now = sample.cpu_ns != 0 ? sample.cpu_ns : clock_ns + sample.ticks * period_ns;
    const uint64_t weight = now > clock_ns ? now - clock_ns : 0;
    clock_ns = std::max(clock_ns, now);
    return weight;
  }
  // CPU since sampling began, when the clock stands at `clock`.
  uint64_t used_ns(uint64_t clock) const {
    return clock > start_clock_ns ? clock - start_clock_ns : 0;
  }
};

}  // namespace sampan::sampler

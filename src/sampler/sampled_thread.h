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
  uint64_t left_out_ns = 0;     // of that, what it used while sampling was off
  StackRecorder::Previous previous;

  // The weight of a sample: the CPU since the one before, in which sampling was on. A clock that
  // could not be read (0) is taken to have moved by the sample's ticks, of `period_ns` each.
  uint64_t weigh(const SampleRecord& sample, uint64_t period_ns) {
    const uint64_t now = sample.cpu_ns != 0
                             ? sample.cpu_ns
                             : clock_ns + sample.left_out_ns + sample.ticks * period_ns;
    const uint64_t passed = now > clock_ns ? now - clock_ns : 0;
    const uint64_t left_out = std::min(sample.left_out_ns, passed);
    clock_ns = std::max(clock_ns, now);
    left_out_ns += left_out;
    return passed - left_out;
  }
  // A sample that is not taken, because sampling is off.
  void leave_out(const SampleRecord& sample, uint64_t period_ns) {
    left_out_ns += weigh(sample, period_ns);
  }
  // CPU since sampling began, when the clock stands at `clock`, without what is left out.
  uint64_t used_ns(uint64_t clock) const {
    const uint64_t used = clock > start_clock_ns ? clock - start_clock_ns : 0;
    return used - std::min(left_out_ns, used);
  }
};

}  // namespace sampan::sampler

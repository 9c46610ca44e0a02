// Writes the sample of a thread into its ring: kSample of wire/record.h, as a difference to the
// thread's previous stack.
//
// Async-signal-safe. Freestanding: linked into the target.
#pragma once

#include <cstdint>

#include "preload/threads.h"
#include "wire/stop_reason.h"

namespace sampan::preload {

struct Sample {
  uint64_t time_ns;
  uint64_t cpu_ns;
  uint32_t depth;  // of thread.frames
  uint16_t ticks;
  wire::StopReason stop;
  uint8_t flags;
};

void record_sample(ThreadState& thread, const Sample& sample);

}  // namespace sampan::preload

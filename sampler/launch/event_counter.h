// Counts what a program and its descendants do, by an event of the kernel or the processor that no
// sample is taken of (perf_event_open(2)). It runs in the kernel: the program is not touched.
#pragma once

#include <linux/perf_event.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "base/file_descriptor.h"

namespace sampan::sampler {

struct CountedEvent {
  uint32_t type = PERF_TYPE_HARDWARE;
  uint64_t config = PERF_COUNT_HW_INSTRUCTIONS;
};

class EventCounter {
 public:
  // From the next exec of `pid` on, a child that waits for it. What the kernel does is not counted.
  // Nothing is thrown if the kernel or the machine refuses it: many virtual machines have no counters.
  explicit EventCounter(pid_t pid, const CountedEvent& event = {});

  // Up to now. Absent: it was refused, or other programs had the counter for a part of the time.
  std::optional<uint64_t> count() const;
  // The error with which it was refused; 0 if it was not.
  int error() const { return error_; }

 private:
  FileDescriptor event_;
  int error_ = 0;
};

}  // namespace sampan::sampler

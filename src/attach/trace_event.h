// What a Tracer has seen, in the order in which it happened.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sampler/cpu_accounting.h"
#include "unwind/registers.h"

namespace sampan::attach {

struct TraceEvent {
  enum class Kind {
    kThreadBegan,
    kThreadEnded,
    kSample,
    kExecuted,      // the process is another program, with the one thread `tid`
    kProcessEnded,  // only when nobody else will tell
    kSampleLost,
    kThreadLost,  // could not be attached
  };
  Kind kind;
  pid_t pid;
  pid_t tid;
  uint64_t time_ns;  // CLOCK_MONOTONIC
  std::optional<uint64_t> cpu_ns;
  sampler::ExitState exit;      // of kProcessEnded
  unwind::Registers registers;  // of kSample, and the stack from the red zone of its sp on
  std::vector<std::byte> stack;
};

}  // namespace sampan::attach

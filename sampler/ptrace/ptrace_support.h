// Which of the engines that stop threads there are for a process.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace sampan::sampler {

enum class PtraceSupport : uint8_t {
  kNone,     // not on this processor
  kPolling,  // the process can have no timers
  kTimers,
};
PtraceSupport ptrace_support(pid_t pid);

}  // namespace sampan::sampler

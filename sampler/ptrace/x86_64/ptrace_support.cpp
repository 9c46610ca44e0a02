#include "sampler/ptrace/ptrace_support.h"

#include "sampler/ptrace/remote_timers.h"

namespace sampan::sampler {

PtraceSupport ptrace_support(pid_t pid) {
  constexpr uint64_t kAnyPeriodNs = 10'000'000;
  return RemoteTimers(pid, kAnyPeriodNs).possible() ? PtraceSupport::kTimers
                                                    : PtraceSupport::kPolling;
}

}  // namespace sampan::sampler

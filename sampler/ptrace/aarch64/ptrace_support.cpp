#include "sampler/ptrace/ptrace_support.h"

namespace sampan::sampler {

PtraceSupport ptrace_support(pid_t /*pid*/) {
  return PtraceSupport::kNone;
}

}  // namespace sampan::sampler

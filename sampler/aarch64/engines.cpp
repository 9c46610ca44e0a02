#include "sampler/engines.h"

#include "sampler/inspect/permission.h"
#include "sampler/perf/perf_engine.h"

namespace sampan::sampler {
namespace {

std::unique_ptr<Engine> make_perf(RecordingSession& session, AttachedProcesses targets,
                                  bool follow) {
  return std::make_unique<PerfEngine>(session, targets, follow);
}

// Not ptrace: a call that PTRACE_INTERRUPT ends with EINTR cannot be begun again, for its first argument
// is not in the registers any more.
constexpr EngineEntry kEngines[] = {{"perf", make_perf, why_perf_refused}};

}  // namespace

std::span<const EngineEntry> engines() {
  return kEngines;
}

}  // namespace sampan::sampler

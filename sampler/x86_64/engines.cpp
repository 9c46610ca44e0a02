#include "sampler/engines.h"

#include "sampler/inspect/permission.h"
#include "sampler/perf/perf_engine.h"
#include "sampler/ptrace/ptrace_engine.h"

namespace sampan::sampler {
namespace {

std::unique_ptr<Engine> make_perf(RecordingSession& session, AttachedProcesses targets,
                                  bool follow) {
  return std::make_unique<PerfEngine>(session, targets, follow);
}

std::unique_ptr<Engine> make_ptrace(RecordingSession& session, AttachedProcesses targets,
                                    bool follow) {
  return std::make_unique<PtraceEngine>(session, targets, follow, true);
}

std::unique_ptr<Engine> make_poll(RecordingSession& session, AttachedProcesses targets,
                                  bool follow) {
  return std::make_unique<PtraceEngine>(session, targets, follow, false);
}

// perf never stops the target, poll stops threads of its own accord.
constexpr EngineEntry kEngines[] = {{"perf", make_perf, why_perf_refused},
                                    {"ptrace", make_ptrace, why_ptrace_refused},
                                    {"poll", make_poll, why_ptrace_refused}};

}  // namespace

std::span<const EngineEntry> engines() {
  return kEngines;
}

}  // namespace sampan::sampler

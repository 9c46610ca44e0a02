#include "attach/engine.h"

namespace sampan::attach {

std::string_view engine_name(EngineKind kind) {
  switch (kind) {
    case EngineKind::kPerf: return "perf";
    case EngineKind::kPtrace: return "ptrace";
    case EngineKind::kPoll: return "poll";
  }
  return "unknown";
}

std::optional<EngineKind> engine_kind(std::string_view name) {
  for (const EngineKind kind : {EngineKind::kPerf, EngineKind::kPtrace, EngineKind::kPoll}) {
    if (name == engine_name(kind)) return kind;
  }
  return std::nullopt;
}

std::unique_ptr<Engine> make_engine(EngineKind kind, sampler::EventLoop& loop, Targets& targets,
                                    const EngineOptions& options) {
  switch (kind) {
    case EngineKind::kPerf: return make_perf_engine(loop, targets, options);
    case EngineKind::kPtrace: return make_ptrace_engine(loop, targets, options);
    case EngineKind::kPoll: break;
  }
  return make_poll_engine(loop, targets, options);
}

}  // namespace sampan::attach

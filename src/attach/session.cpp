#include "attach/session.h"

#include <unistd.h>

#include <algorithm>
#include <vector>

#include "attach/permission.h"
#include "base/clock.h"

namespace sampan::attach {

Session::Session(sampler::EventLoop& loop, pid_t pid, const SessionOptions& options)
    : loop_(loop), start_ns_(monotonic_ns()) {
  std::vector<EngineKind> kinds = {EngineKind::kPerf, EngineKind::kPtrace, EngineKind::kPoll};
  if (options.engine) kinds = {*options.engine};
  std::string refusals;
  for (const EngineKind kind : kinds) {
    try {
      begin(kind, pid, options);
      return;
    } catch (const Refused& refused) {
      refusals += "\n  " + why_refused(kind, pid, refused.error_number);
    }
    engine_.reset();
    targets_.reset();
    writer_.reset();
    unlink(options.recording.c_str());
  }
  throw NotPermitted("process {} cannot be sampled:{}", pid, refusals);
}

Session::~Session() = default;

void Session::begin(EngineKind kind, pid_t pid, const SessionOptions& options) {
  recording::Session description = options.description;
  description.engine = engine_name(kind);
  const uint32_t rate_hz = std::max(description.rate_hz, 1u);
  writer_ = std::make_unique<recording::Writer>(options.recording, description);
  targets_ = std::make_unique<RecordedTargets>(
      loop_, *writer_,
      RecordedTargets::Options{pid, start_ns_, 1'000'000'000 / rate_hz, options.awaits_exec,
                               description.clock == "wall"});
  if (description.clock == "wall") tick_ms_ = std::clamp<int>(1000 / rate_hz, 1, kTickMs);
  engine_ = make_engine(kind, loop_, *targets_, {rate_hz, options.follow});
  kind_ = kind;
  engine_->attach(pid);
  targets_->process(pid);  // an engine may wait for its first sample
}

void Session::step(int longest_ms) {
  loop_.wait(std::clamp(longest_ms, 0, tick_ms_));
  const uint64_t now = monotonic_ns();
  engine_->tick(now);
  targets_->tick(now);
  targets_->look(now);
}

void Session::detach() {
  engine_->tick(monotonic_ns());
  note_ = engine_->note();
  engine_.reset();
  targets_->finish(monotonic_ns());
  outcome_ = {targets_->root_ended(), targets_->root_exit(), targets_->last_end_ns()};
}

void Session::finish(const recording::SessionEnd& end) {
  writer_->finish(end);
}

}  // namespace sampan::attach

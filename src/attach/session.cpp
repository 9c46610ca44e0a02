#include "attach/session.h"

#include <unistd.h>

#include <algorithm>
#include <vector>

#include "attach/permission.h"
#include "base/clock.h"

namespace sampan::attach {

Session::Session(sampler::EventLoop& loop, pid_t pid, const SessionOptions& options)
    : loop_(loop), start_ns_(monotonic_ns()), segments_(options.segments) {
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
  description.start_monotonic_ns = start_ns_;
  writer_ = std::make_unique<recording::Writer>(options.recording, description);
  rates_ = std::make_unique<sampler::RateControl>(*writer_, start_ns_, options.rate);
  waits_ = description.clock == "wall";
  targets_ = std::make_unique<RecordedTargets>(
      loop_, *writer_,
      RecordedTargets::Options{pid, start_ns_, rates_->period_ns(), options.awaits_exec, waits_,
                               options.paused, options.segments});
  engine_ = make_engine(kind, loop_, *targets_, {rates_->rate_hz(), options.follow});
  kind_ = kind;
  engine_->attach(pid);
  targets_->process(pid);  // an engine may wait for its first sample
  set_tick();
}

void Session::step(int longest_ms) {
  loop_.wait(std::clamp(longest_ms, 0, tick_ms_));
  const uint64_t now = monotonic_ns();
  engine_->tick(now);
  targets_->tick(now);
  targets_->look(now);
  if (rates_->is_due(now)) observe_cost();
  if (segments_ != nullptr && segments_->is_due(*writer_, session_time(now))) end_segment();
}

void Session::set_tick() {
  if (waits_) tick_ms_ = std::clamp<int>(static_cast<int>(1000 / rates_->rate_hz()), 1, kTickMs);
}

// What was taken at the old rate is weighed by it.
void Session::follow_rate() {
  engine_->tick(monotonic_ns());
  engine_->set_rate(rates_->rate_hz());
  targets_->set_period(rates_->period_ns());
  set_tick();
}

void Session::set_rate(uint32_t rate_hz) {
  const uint32_t before = rates_->rate_hz();
  rates_->ask(rate_hz);
  try {
    follow_rate();
  } catch (const Error& error) {
    rates_->stay(before, error.what());
    throw;
  }
}

void Session::observe_cost() {
  const uint32_t before = rates_->rate_hz();
  if (!rates_->observe(targets_->cpu_ns(), engine_->cost_ns())) return;
  try {
    follow_rate();
  } catch (const Error& error) {
    rates_->stay(before, error.what());
  }
}

void Session::write_cost() {
  observe_cost();
  rates_->write_cost();
}

void Session::end_segment() {
  write_cost();
  const uint64_t now = monotonic_ns();
  engine_->tick(now);
  targets_->end_segment(now);
  segments_->rotate(*writer_, session_time(now));
  targets_->look(now);
}

std::string Session::flush() {
  if (segments_ == nullptr) {
    sync();
    return writer_->path();
  }
  const std::string segment = writer_->path();
  end_segment();
  if (!segments_->has_black_box()) return segment;
  return segments_->write_box(session_time(monotonic_ns()));
}

// The engine's samples so far were taken before.
sampler::Controlled Session::controlled() {
  return {[this](pid_t pid) { return targets_->records(pid); },
          [this](bool paused) {
            engine_->tick(monotonic_ns());
            targets_->set_paused(paused, monotonic_ns());
          },
          [this](uint32_t rate_hz) { set_rate(rate_hz); },
          [this] {
            observe_cost();
            return rates_->status();
          },
          [this] { return flush(); },
          [this] {
            sync();
            return writer_->path();
          }};
}

void Session::sync() {
  engine_->tick(monotonic_ns());
  write_cost();
  writer_->flush();
}

void Session::detach() {
  engine_->tick(monotonic_ns());
  write_cost();
  note_ = engine_->note();
  engine_.reset();
  targets_->finish(monotonic_ns());
  outcome_ = {targets_->root_ended(), targets_->root_exit(), targets_->last_end_ns()};
}

void Session::finish(const recording::SessionEnd& end) {
  writer_->finish(end);
  if (segments_ != nullptr) segments_->finish(*writer_, end.time_ns);
}

}  // namespace sampan::attach

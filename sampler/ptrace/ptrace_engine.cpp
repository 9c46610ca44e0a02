#include "sampler/ptrace/ptrace_engine.h"

#include <fmt/format.h>

#include <cstring>

#include "base/units.h"
#include "sampler/process/kernel_limits.h"

namespace sampan::sampler {
namespace {

// CPU of a thread for one stop: its signal, and two switches. About half of the time that it is
// away (bench/outside.py), which is not all its own.
constexpr uint64_t kStopNs = 20'000;

}  // namespace

PtraceEngine::PtraceEngine(RecordingSession& session, AttachedProcesses targets, bool follow,
                           bool timers)
    : loop_(session.loop()),
      targets_(targets),
      timers_(timers),
      rate_hz_(session.rate_hz()),
      tracer_({kNsPerSecond / rate_hz_, follow, timers}) {
  loop_.watch(tracer_.fd(), [this] { drain(); });
}

PtraceEngine::~PtraceEngine() {
  loop_.forget(tracer_.fd());
}

void PtraceEngine::attach(pid_t pid) {
  const int error = tracer_.attach(pid);
  if (error != 0) throw Refused(error, "ptrace of process {}: {}", pid, std::strerror(error));
}

void PtraceEngine::read(MonotonicNs) {
  drain();
}

void PtraceEngine::set_rate(uint32_t rate_hz) {
  rate_hz_ = rate_hz;
  tracer_.set_period(kNsPerSecond / rate_hz);
}

uint64_t PtraceEngine::cost_ns() const {
  return samples_ * kStopNs;
}

std::string PtraceEngine::note() const {
  const int ticks = tick_rate_hz();
  if (timers_ && rate_hz_ > static_cast<uint32_t>(ticks)) {
    return fmt::format("ptrace: samples come at the kernel's tick, {} a second at most.", ticks);
  }
  return "";
}

void PtraceEngine::drain() {
  for (const TraceEvent& event : tracer_.take()) take(event);
}

void PtraceEngine::take(const TraceEvent& event) {
  using Kind = TraceEvent::Kind;
  if (event.kind == Kind::kProcessEnded) {
    return targets_.ended(event.pid, event.time_ns, event.exit);
  }
  AttachedProcess& process = targets_.process(event.pid);
  switch (event.kind) {
    case Kind::kThreadBegan: return process.thread_began(event.tid, event.time_ns, event.cpu_ns);
    case Kind::kThreadEnded: return process.thread_ended(event.tid, event.time_ns, event.cpu_ns);
    case Kind::kSample:
      ++samples_;
      memory_.use_copy(Avma::at(event.registers.value[unwind::kRsp] - kRedZone), event.stack);
      process.add_sample(
          {event.tid, event.time_ns, event.cpu_ns.value_or(CpuNs()), event.registers}, memory_);
      if (memory_.truncated()) tracer_.copy_more();
      return;
    case Kind::kExecuted:
      process.executed(event.time_ns);
      return process.thread_began(event.tid, event.time_ns, event.cpu_ns);
    case Kind::kSampleLost: return process.count_loss(wire::Loss::kEngineRingFull);
    case Kind::kThreadLost: return process.count_loss(wire::Loss::kThreadNotAttached);
    case Kind::kProcessEnded: return;
  }
}

}  // namespace sampan::sampler

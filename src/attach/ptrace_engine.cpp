// The engines ptrace and poll: a Tracer stops threads and copies, here the copies are walked.
#include <fmt/format.h>

#include <cstring>

#include "attach/engine.h"
#include "attach/kernel_limits.h"
#include "attach/tracer.h"

namespace sampan::attach {
namespace {

// CPU of a thread for one stop: its signal, and two switches. About half of the time that it is
// away (bench/outside.py), which is not all its own.
constexpr uint64_t kStopNs = 20'000;

class PtraceEngine : public Engine {
 public:
  PtraceEngine(EngineKind kind, sampler::EventLoop& loop, Targets& targets,
               const EngineOptions& options)
      : kind_(kind),
        loop_(loop),
        targets_(targets),
        rate_hz_(options.rate_hz),
        tracer_({1'000'000'000 / options.rate_hz, options.follow, kind == EngineKind::kPtrace}) {
    loop_.watch(tracer_.fd(), [this] { drain(); });
  }
  ~PtraceEngine() override { loop_.forget(tracer_.fd()); }

  EngineKind kind() const override { return kind_; }

  void attach(pid_t pid) override {
    const int error = tracer_.attach(pid);
    if (error != 0) throw Refused(error, "ptrace of process {}: {}", pid, std::strerror(error));
  }

  void tick(uint64_t) override { drain(); }

  void set_rate(uint32_t rate_hz) override {
    rate_hz_ = rate_hz;
    tracer_.set_period(1'000'000'000 / rate_hz);
  }

  uint64_t cost_ns() const override { return samples_ * kStopNs; }

  std::string note() const override {
    const int ticks = tick_rate_hz();
    if (kind_ == EngineKind::kPtrace && rate_hz_ > static_cast<uint32_t>(ticks)) {
      return fmt::format("ptrace: samples come at the kernel's tick, {} a second at most.", ticks);
    }
    return "";
  }

 private:
  void drain() {
    for (const TraceEvent& event : tracer_.take()) take(event);
  }

  void take(const TraceEvent& event) {
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
        memory_.use_copy(event.registers.value[unwind::kRsp] - kRedZone, event.stack);
        process.add_sample({event.tid, event.time_ns, event.cpu_ns.value_or(0), event.registers},
                           memory_);
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

  EngineKind kind_;
  sampler::EventLoop& loop_;
  Targets& targets_;
  uint32_t rate_hz_;
  uint64_t samples_ = 0;
  RemoteMemory memory_;
  Tracer tracer_;
};

}  // namespace

std::unique_ptr<Engine> make_ptrace_engine(sampler::EventLoop& loop, Targets& targets,
                                           const EngineOptions& options) {
  return std::make_unique<PtraceEngine>(EngineKind::kPtrace, loop, targets, options);
}

std::unique_ptr<Engine> make_poll_engine(sampler::EventLoop& loop, Targets& targets,
                                         const EngineOptions& options) {
  return std::make_unique<PtraceEngine>(EngineKind::kPoll, loop, targets, options);
}

}  // namespace sampan::attach

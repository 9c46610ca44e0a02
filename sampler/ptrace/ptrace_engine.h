// The engines ptrace and poll: a Tracer stops threads and copies their stacks, which are walked
// here.
#pragma once

#include <memory>
#include <unordered_map>

#include "base/time.h"
#include "sampler/process/remote_memory.h"
#include "sampler/ptrace/tracer.h"
#include "sampler/recorder/attached_process.h"
#include "sampler/recorder/source.h"

namespace sampan::sampler {

class PtraceEngine : public Engine {
 public:
  // `timers`: threads stop by timers of their own (ptrace), else they are polled. `follow`:
  // children too.
  PtraceEngine(RecordingSession& session, AttachedProcesses targets, bool follow, bool timers);
  ~PtraceEngine() override;

  void attach(pid_t pid) override;
  void read(MonotonicNs now_ns) override;
  void set_rate(uint32_t rate_hz) override;
  uint64_t cost_ns() const override;
  std::string note() const override;

 private:
  void drain();
  void take(TraceEvent& event);
  void take_sample(AttachedProcess& process, TraceEvent& event);
  void follow_python(AttachedProcess& process);

  EventLoop& loop_;
  const bool reads_python_;
  AttachedProcesses targets_;
  const bool timers_;
  uint32_t rate_hz_;
  uint64_t samples_ = 0;
  RemoteMemory memory_;
  // What the tracer knows, by process.
  std::unordered_map<pid_t, std::shared_ptr<const PythonInterpreter>> interpreters_;
  Tracer tracer_;
};

}  // namespace sampan::sampler

// The waiting threads of processes that have the shim inside (run --clock wall): a WaitSampler for
// each of them. Their on-CPU samples, threads and modules come through their rings.
#pragma once

#include <memory>
#include <unordered_map>

#include "attach/wait_sampler.h"
#include "recording/writer.h"
#include "sampler/collector.h"

namespace sampan::attach {

class PreloadedWaits : public sampler::Onlooker {
 public:
  PreloadedWaits(recording::Writer& writer, uint64_t session_start_ns);
  ~PreloadedWaits() override;

  void began(sampler::TargetProcess& process) override;
  void look(uint64_t now_ns) override;
  void end_segment(uint64_t now_ns) override;
  void ended(pid_t pid, uint64_t now_ns) override;

 private:
  struct Process;
  recording::Writer& writer_;
  uint64_t session_start_ns_;
  std::unordered_map<pid_t, std::unique_ptr<Process>> processes_;
};

}  // namespace sampan::attach

// The processes of one attach: makes their rows in the recording, notices their ends, and knows of
// the first, the root, how it ended.
//
// A process that has ended may still have samples in an engine's ring. So its end is noted when its
// pidfd says so, and written by the tick after that: call the engine's tick first.
//
// Errors: throws Error when the recording cannot be written.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>

#include "attach/engine.h"
#include "attach/wait_sampler.h"
#include "sampler/event_loop.h"
#include "sampler/file_descriptor.h"
#include "sampler/segments.h"

namespace sampan::attach {

class RecordedTargets : public Targets {
 public:
  struct Options {
    pid_t root;
    uint64_t start_ns;    // of the session, CLOCK_MONOTONIC
    uint64_t period_ns;   // of the rate
    bool awaits_exec;     // the root is a child of ours that has yet to become the program
    bool waits = false;   // waiting samples too (--clock wall)
    bool paused = false;  // no samples until set_paused(false)
    sampler::Segments* segments = nullptr;
  };
  RecordedTargets(sampler::EventLoop& loop, recording::Writer& writer, const Options& options);
  ~RecordedTargets() override;

  AttachedProcess& process(pid_t pid) override;
  void ended(pid_t pid, uint64_t time_ns, const sampler::ExitState& exit) override;

  // Writes the ends that are due, and once a second what no engine announces.
  void tick(uint64_t now_ns);
  // Samples the threads that wait, at the rate asked for: call it that often. Nothing without
  // Options::waits.
  void look(uint64_t now_ns);
  // Of all processes, and of those that come later. What the engine still has is to be read before.
  void set_paused(bool paused, uint64_t now_ns);
  // Of the rate that holds from now on.
  void set_period(uint64_t period_ns);
  // That all of them have used since sampling of them began.
  uint64_t cpu_ns() const;
  // The segment of the recording ends. What the engine still has is to be read before.
  void end_segment(uint64_t now_ns);
  bool records(pid_t pid) const { return processes_.contains(pid); }
  // The end of sampling: of those that live, and of those whose end was not written yet.
  void finish(uint64_t now_ns);

  size_t alive() const { return processes_.size(); }
  // When sampling ended: of the last process.
  uint64_t last_end_ns() const { return last_end_ns_; }
  // Modules that their paths do not name; each file once.
  std::vector<HiddenFile> hidden() const;
  bool root_ended() const { return root_ended_; }
  // How the root ended, as far as that is known.
  const sampler::ExitState& root_exit() const { return root_exit_; }

 private:
  struct Entry {
    std::unique_ptr<AttachedProcess> process;
    std::unique_ptr<WaitSampler> waits;  // of `process`
    sampler::FileDescriptor pidfd;
    uint64_t end_ns = 0;  // 0: lives
  };

  std::unique_ptr<WaitSampler> wait_sampler_of(AttachedProcess& process);
  void end(pid_t pid, Entry& entry, const sampler::ExitState& exit, bool lives_on);

  sampler::EventLoop& loop_;
  recording::Writer& writer_;
  Options options_;
  std::map<pid_t, Entry> processes_;
  uint64_t next_refresh_ns_ = 0;
  uint64_t last_end_ns_ = 0;
  std::vector<HiddenFile> hidden_;
  uint64_t next_look_ns_ = 0;
  uint64_t ended_cpu_ns_ = 0;
  bool root_ended_ = false;
  sampler::ExitState root_exit_;
};

}  // namespace sampan::attach

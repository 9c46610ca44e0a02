// One process that is sampled from outside, and the rows of the recording that come of it: what
// sampler/target_process.h is for a process with the shim inside. Engines say what they see, in the
// order in which it happened within a thread.
//
// Times are CLOCK_MONOTONIC nanoseconds. Errors: throws Error when the recording cannot be written.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "attach/frameless_leaf.h"
#include "attach/process_modules.h"
#include "attach/remote_walker.h"
#include "recording/writer.h"
#include "sampler/cpu_accounting.h"
#include "sampler/sampled_thread.h"
#include "sampler/stack_recorder.h"
#include "unwind/registers.h"
#include "wire/loss.h"

namespace sampan::attach {

class AttachedProcess {
 public:
  struct Origin {
    pid_t pid;
    pid_t parent_pid;
    uint64_t session_start_ns;
    uint64_t start_ns;   // when sampling of it began
    uint64_t period_ns;  // of the rate
    bool awaits_exec;    // a child of ours that has yet to become the program: not sampled before
  };
  AttachedProcess(recording::Writer& writer, const Origin& origin);

  // A thread, new or known. Its name is read from /proc, and its CPU clock too, unless the engine
  // knows where it stood when sampling of the thread began (0 for one that was made just now).
  void thread_began(pid_t tid, uint64_t time_ns, std::optional<uint64_t> cpu_ns = std::nullopt);
  void thread_named(pid_t tid, uint64_t time_ns, const std::string& name);
  // `cpu_ns`: of its clock, since it was created, where somebody could read it.
  void thread_ended(pid_t tid, uint64_t time_ns, std::optional<uint64_t> cpu_ns);

  struct OnCpu {
    pid_t tid;
    uint64_t time_ns;
    uint64_t cpu_ns;  // the thread's CPU clock, or a clock that runs as it does; 0: not known
    unwind::Registers registers;
  };
  // A thread was seen running. Walks its stack in `memory` and writes a sample; its weight is the
  // CPU that the thread used since its sample before. Modules that came meanwhile are looked up
  // once for a stack that ends without them.
  void add_sample(const OnCpu& sample, RemoteMemory& memory);

  // Reads what no engine announces: new modules, and names of threads, these less and less often
  // while none changes and no thread begins. Call about once a second.
  void refresh(uint64_t time_ns);
  // Reads the CPU of the whole process, unless it was read a moment ago. Call often: when it has
  // ended, and somebody has waited for it, nobody can ask any more, and what it used since is known
  // of its threads only.
  void look_at_clock(uint64_t now_ns);
  // The engine was told that code was mapped.
  void modules_changed(uint64_t time_ns);
  // The process has replaced itself by another program: its modules are others.
  void executed(uint64_t time_ns);

  // Of the rate that holds from now on.
  void set_period(uint64_t period_ns) { origin_.period_ns = period_ns; }
  // That it has used since sampling of it began, as of when its clock was read last.
  uint64_t cpu_ns() const { return earlier_cpu_ns_ + clock_ns_ - start_clock_ns_; }

  // Samples are left out until it is switched on again, and the CPU that they stand for.
  void set_paused(bool paused, uint64_t time_ns);

  void count_loss(wire::Loss loss, uint64_t count = 1);
  // The segment of the recording ends. CPU that no sample says yet is the next segment's.
  void end_segment(uint64_t time_ns);
  // The end of the process, or, where it lives on, of sampling; nothing may be added after it.
  void finish(uint64_t time_ns, const sampler::ExitState& exit, bool lives_on);

  pid_t pid() const { return origin_.pid; }
  size_t threads() const { return threads_.size(); }
  // The row of a thread that is known; kNone for another.
  uint32_t thread_row(pid_t tid) const;
  ProcessModules& modules() { return modules_; }
  RemoteWalker& walker() { return walker_; }
  sampler::StackRecorder& stacks() { return stacks_; }
  // Modules of it that their paths do not name, see module_file.h.
  const std::vector<HiddenFile>& hidden() const { return hidden_; }

 private:
  struct Thread {
    sampler::SampledThread sampled;
    std::string name;
    std::vector<uint64_t> stack;  // of its latest sample, root first
    uint64_t samples = 0;
  };

  bool begun() const { return row_ != recording::kNone; }
  void read_clock();
  void begin_image(uint64_t time_ns);
  void end_image(recording::ProcessEnd end, uint64_t time_ns);
  void look_at_name(pid_t tid, uint64_t time_ns);
  void look_at_names(uint64_t time_ns);
  unwind::WalkResult walk_stack(const OnCpu& sample, RemoteMemory& memory);
  unwind::WalkResult walk_once(unwind::Registers registers, RemoteMemory& memory);
  // Makes the first `depth` of `frames_` the thread's latest stack; returns how many frames at the
  // root side it shares with the one before.
  size_t take_stack(Thread& thread, size_t depth);
  void refresh_modules(uint64_t time_ns);
  void write_losses();
  void end_pause(uint64_t time_ns);
  uint64_t session_time(uint64_t monotonic_ns) const;

  recording::Writer& writer_;
  Origin origin_;
  uint32_t row_ = recording::kNone;
  ProcessModules modules_;
  std::vector<HiddenFile> hidden_;
  RemoteWalker walker_;
  FramelessLeaf frameless_leaf_;
  sampler::StackRecorder stacks_;
  std::unordered_map<pid_t, Thread> threads_;
  uint64_t start_clock_ns_ = 0;  // the process's CPU clock when this image began to be sampled
  uint64_t clock_ns_ = 0;        // and when it was read last
  uint64_t next_clock_ns_ = 0;   // when it is to be read again
  uint64_t earlier_cpu_ns_ = 0;  // of the images before
  bool paused_ = false;
  uint64_t paused_since_ns_ = 0;
  uint64_t left_out_ns_ = 0;      // CPU of the threads that have ended, while it was paused
  uint64_t ended_clocks_ns_ = 0;  // the CPU of the threads that have ended, since they were sampled
  uint64_t modules_interval_ns_ = 1;  // at least so long until they are looked at again
  uint64_t next_modules_ns_ = 0;
  uint64_t names_interval_ns_ = 0;  // so long until names are looked at again
  uint64_t next_names_ns_ = 0;
  recording::Losses losses_;
  recording::Losses written_losses_;
  std::vector<uint64_t> frames_;  // of the walk under way
};

}  // namespace sampan::attach

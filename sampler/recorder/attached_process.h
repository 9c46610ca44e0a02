// One process that an engine samples from outside. The engine says what it sees, in the order in
// which it happened within a thread.
//
// Times are CLOCK_MONOTONIC nanoseconds. Errors: throws Error when the recording cannot be written.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "sampler/recorder/python_thread_names.h"
#include "sampler/recorder/recorded_process.h"
#include "sampler/recorder/recording_session.h"
#include "unwind/registers.h"

namespace sampan::sampler {

class AttachedProcess : public RecordedProcess {
 public:
  // Sampling of it begins now. `awaits_exec`: a child of ours that has yet to become the program;
  // it is not recorded before.
  AttachedProcess(RecordingSession& session, pid_t pid, bool awaits_exec);

  // A thread, new or known. Its name is read from /proc, or from Python, and its CPU clock too, unless the engine
  // knows where it stood when sampling of the thread began (0 for one that was made just now).
  void thread_began(pid_t tid, MonotonicNs time_ns, std::optional<CpuNs> cpu_ns = std::nullopt);
  void thread_named(pid_t tid, MonotonicNs time_ns, const std::string& in_kernel);
  // `cpu_ns`: its CPU clock at its end, where it could be read.
  void thread_ended(pid_t tid, MonotonicNs time_ns, std::optional<CpuNs> cpu_ns);

  struct OnCpu {
    pid_t tid;
    MonotonicNs time_ns;
    CpuNs cpu_ns;  // the thread's CPU clock, or a clock that runs as it does; 0: not known
    unwind::Registers registers;
    // What was captured of its Python frames while it stood still; null: nothing, by this engine.
    CapturedPython* python = nullptr;
    bool is_late = false;  // they were not captured, for the thread had run on
  };
  // A thread was seen running. Walks its stack in `memory` and writes a sample; its weight is the
  // CPU that the thread has used since the sample before. For a stack that ends where no module is
  // known, modules are read again, and the stack is walked again.
  void add_sample(const OnCpu& sample, RemoteMemory& memory);
  // The process executes another program: its modules are others.
  void executed(MonotonicNs time_ns);

  ExitState finish(const End& end) override;
  void leave(MonotonicNs time_ns) override;
  void end_segment(MonotonicNs time_ns) override;
  // Reads the CPU clock of the process, unless it was read a moment ago. When the process has ended
  // and was waited for, nobody can read it, and what the process used since is known of its threads
  // only.
  void tick(MonotonicNs now_ns) override;
  // Reads what no engine announces: new modules, and names of threads, these less and less often
  // while none changes and no thread begins.
  void refresh(MonotonicNs now_ns) override;
  void set_paused(bool paused, MonotonicNs time_ns) override;
  bool sampling() const override { return !paused_; }
  void set_rate(uint32_t rate_hz) override;
  bool tells_its_end() const override { return false; }
  // kNone for a thread that is not known.
  uint32_t thread_row(pid_t tid) const override;
  ProcessModules& modules() override { return modules_; }
  RemoteWalker& walker() override { return walker_; }
  PythonReader* python() override { return reads_python_ ? &python_ : nullptr; }
  void refresh_modules(MonotonicNs time_ns) override;
  bool find_code(MonotonicNs time_ns) override;
  std::vector<HiddenFile> hidden() const override { return hidden_; }

 private:
  struct Thread {
    SampledThread sampled;
    std::string name;
    std::vector<uint64_t> stack;  // of its latest sample, root first
    uint64_t samples = 0;
  };

  void begin(MonotonicNs time_ns);
  void end(MonotonicNs time_ns, const ExitState& exit, bool replaced, bool lives_on);
  void look_at_name(pid_t tid, MonotonicNs time_ns);
  void look_at_names(MonotonicNs time_ns);
  void walk_stack(const OnCpu& sample, RemoteMemory& memory);
  // Makes the first `depth` of `frames_` the thread's latest stack; returns how many frames at the
  // root side it shares with the one before.
  size_t take_stack(Thread& thread, size_t depth);
  void end_pause(MonotonicNs time_ns);
  std::vector<const SampledThread*> live_threads() const override;

  uint64_t period_ns_;
  ProcessModules modules_;
  std::vector<HiddenFile> hidden_;
  RemoteWalker walker_;
  KeptFiles& kept_;
  std::unordered_map<pid_t, Thread> threads_;
  MonotonicNs next_clock_ns_ = 0;  // when the process's CPU clock is to be read again
  bool paused_;
  MonotonicNs paused_since_ns_ = 0;
  uint64_t modules_interval_ns_ = 1;  // at least so long until modules are read again
  MonotonicNs next_modules_ns_ = 0;
  uint64_t names_interval_ns_ = 0;  // so long until names are read again
  MonotonicNs next_names_ns_ = 0;
  const bool reads_python_;
  PythonReader python_;
  PythonThreadNames python_names_;
  bool has_counted_python_ = false;
  NativeWalk native_;             // the walk under way
  std::vector<uint64_t> frames_;  // what comes of it
};

// The processes that an engine samples, as rows of a session.
class AttachedProcesses {
 public:
  // `awaits_exec`: the root is a child of ours that has yet to become the program.
  AttachedProcesses(RecordingSession& session, bool awaits_exec)
      : session_(session), awaits_exec_(awaits_exec) {}

  // The process, new or known; one that another source has fed is this engine's from now on.
  AttachedProcess& process(pid_t pid);
  // It has ended, and how if the engine knows.
  void ended(pid_t pid, MonotonicNs time_ns, const ExitState& exit);

 private:
  RecordingSession& session_;
  bool awaits_exec_;
};

}  // namespace sampan::sampler

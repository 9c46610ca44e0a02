// One process of a recording: the rows of its threads, samples, losses and ends, and the account of
// the CPU that it has used. A derived class feeds it: ShimProcess from the rings of the shim,
// AttachedProcess from an engine outside the process.
//
// A process that executes another program begins a new image, with rows of its own.
//
// Times are CLOCK_MONOTONIC nanoseconds. Errors: throws Error when the recording cannot be written.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/time.h"
#include "recording/writer.h"
#include "sampler/process/cpu_accounting.h"
#include "sampler/process/module_file.h"
#include "sampler/process/process_modules.h"
#include "sampler/process/remote_walker.h"
#include "sampler/recorder/code_names.h"
#include "sampler/recorder/python_reader.h"
#include "sampler/recorder/stack_recorder.h"
#include "wire/loss.h"
#include "wire/record.h"

namespace sampan::sampler {

// What the event loop of a thread ran (wire/record.h).
struct StepRecord {
  wire::StepKind kind = wire::StepKind::kNone;
  uint8_t task = 0;
  uint64_t id = 0;
};

// A sample without its stack.
struct SampleRecord {
  MonotonicNs time_ns;
  CpuNs cpu_ns;    // of the thread's CPU clock; 0: not known
  uint16_t ticks;  // expiries of its timer that the sample stands for
  wire::StopReason stop;
  uint64_t left_out_ns = 0;  // CPU since the sample before in which sampling was off
  StepRecord step = {};
  wire::TraceContext context = {};  // not set: of no request
};

struct SampledThread {
  uint32_t row = recording::kNone;  // in the recording's table of threads
  int32_t tid = 0;
  CpuNs start_clock_ns = 0;  // the thread's CPU clock when sampling began
  CpuNs clock_ns = 0;        // and at its latest sample
  uint64_t left_out_ns = 0;  // of that, what it used while sampling was off
  StackRecorder::Previous previous;

  // The weight of a sample: the CPU since the one before, in which sampling was on. A clock that
  // could not be read (0) is taken to have moved by the sample's ticks, of `period_ns` each.
  uint64_t weigh(const SampleRecord& sample, uint64_t period_ns) {
    const CpuNs now = sample.cpu_ns != 0 ? sample.cpu_ns
                                         : clock_ns + sample.left_out_ns + sample.ticks * period_ns;
    const uint64_t passed = now.since(clock_ns);
    const uint64_t left_out = std::min(sample.left_out_ns, passed);
    clock_ns = std::max(clock_ns, now);
    left_out_ns += left_out;
    return passed - left_out;
  }
  // A sample that is not recorded, because sampling is off.
  void leave_out(const SampleRecord& sample, uint64_t period_ns) {
    left_out_ns += weigh(sample, period_ns);
  }
  // CPU since sampling began, when the clock stands at `clock`, without what is left out.
  uint64_t used_ns(CpuNs clock) const {
    const uint64_t used = clock.since(start_clock_ns);
    return used - std::min(left_out_ns, used);
  }
};

class RecordedProcess {
 public:
  virtual ~RecordedProcess() = default;
  RecordedProcess(const RecordedProcess&) = delete;
  RecordedProcess& operator=(const RecordedProcess&) = delete;

  struct End {
    MonotonicNs time_ns;
    ExitState exit = {};    // as far as the kernel says
    bool replaced = false;  // by exec
  };
  // Writes the ends of its threads and of itself. Returns how it ended, as far as that is known.
  // Nothing may be added after it.
  virtual ExitState finish(const End& end) = 0;
  // Sampling of it ends, and it lives on. Nothing may be added after it.
  virtual void leave(MonotonicNs time_ns) = 0;
  // The segment of the recording ends; everything so far was read from the source. CPU that no
  // sample accounts for yet is the next segment's.
  virtual void end_segment(MonotonicNs time_ns) = 0;

  // Adds what the source holds of this process alone.
  virtual void drain() {}
  // Called often.
  virtual void tick(MonotonicNs) {}
  // Called often: names code that the process made at run time.
  void name_code();
  // Called once a second: writes what the source does not announce.
  virtual void refresh(MonotonicNs now_ns) = 0;

  // While sampling is off, samples are left out, and the CPU that they stand for.
  virtual void set_paused(bool paused, MonotonicNs time_ns) = 0;
  virtual bool sampling() const = 0;
  // For samples that come from now on.
  virtual void set_rate(uint32_t rate_hz) = 0;
  // The recording has failed: what the process still says is not read.
  virtual void disable() {}

  // True when finish() may be called as soon as the process has ended: nothing of it is on its way,
  // and it says itself how it ended.
  virtual bool tells_its_end() const = 0;

  // For which request a thread works that waits.
  virtual wire::TraceContext context_of(pid_t) const { return {}; }
  // The row of the thread that has this tid now; kNone when it is not known.
  virtual uint32_t thread_row(pid_t tid) const = 0;
  // For who walks its stacks from outside.
  virtual ProcessModules& modules() = 0;
  virtual RemoteWalker& walker() = 0;
  // Null: its Python frames are not read from outside.
  virtual PythonReader* python() = 0;
  virtual void refresh_modules(MonotonicNs time_ns) = 0;
  // A sample at `time_ns` met code that is in no module. True when more is known now.
  virtual bool find_code(MonotonicNs) { return false; }
  // Modules that cannot be opened by their paths, see module_file.h.
  virtual std::vector<HiddenFile> hidden() const { return {}; }
  StackRecorder& stacks() { return stacks_; }
  recording::Writer& writer() const { return writer_; }

  pid_t pid() const { return pid_; }
  SessionClock clock() const { return clock_; }
  // CPU that it has used since sampling of it began, as of the latest read_clock() or the latest end
  // of a thread.
  uint64_t cpu_ns() const;
  void read_clock();
  // CPU that its threads have used while sampling was off; complete after finish().
  uint64_t left_out_ns() const { return left_out_ns_; }

  void count_loss(wire::Loss loss, uint64_t count = 1) {
    losses_.count[static_cast<size_t>(loss)] += count;
  }
  // Writes the losses if they have grown since they were written last.
  void write_losses();

 protected:
  // What the CPU of a thread that has ended counts for in its process: all of it, or what it used
  // since it was sampled.
  enum class Threads { kWhole, kSinceSampled };

  RecordedProcess(recording::Writer& writer, SessionClock clock, pid_t pid, pid_t parent_pid,
                  Threads threads);

  bool begun() const { return row_ != recording::kNone; }
  uint32_t row() const { return row_; }
  SessionNs session_time(MonotonicNs monotonic_ns) const { return clock_.at(monotonic_ns); }

  // Returns its row. `start_clock_ns`: the process's CPU clock when sampling of this image began.
  uint32_t begin_image(const std::string& executable, MonotonicNs time_ns, CpuNs start_clock_ns);
  // Its threads have ended.
  void end_image(MonotonicNs time_ns, const ExitState& exit, bool replaced, bool lives_on);

  SampledThread begin_thread(pid_t tid, MonotonicNs time_ns, CpuNs cpu_ns, const std::string& name);
  // `stack`: lookup AVMAs, root first; its first `shared` are those of the thread's stack before.
  void add_sample(SampledThread& thread, const SampleRecord& sample, uint64_t period_ns,
                  std::span<const uint64_t> stack, size_t shared);
  // The row of such a stack, which becomes the thread's stack before.
  uint32_t stack_row(SampledThread& thread, std::span<const uint64_t> stack, size_t shared,
                     MonotonicNs time_ns);
  // `clock_ns`: the thread's CPU clock at its end, where it is known.
  void end_thread(const SampledThread& thread, MonotonicNs time_ns, std::optional<CpuNs> clock_ns);
  // The same as name_code(), by what has been read before.
  void name_last_code();
  // At the end of sampling, or of the segment: that, and what the runtime has written of its code.
  void name_rest_of_code();
  // Writes what the threads and the process have used so far.
  void account_segment(MonotonicNs time_ns);

  // The process's CPU clock was seen at `clock_ns`.
  void note_clock(CpuNs clock_ns) { clock_ns_ = std::max(clock_ns_, clock_ns); }
  CpuNs clock_ns() const { return clock_ns_; }
  virtual std::vector<const SampledThread*> live_threads() const = 0;
  // Losses that are not counted here.
  virtual void add_losses(recording::Losses*) const {}

 private:
  uint64_t counted_ns(const SampledThread& thread, CpuNs clock_ns) const;
  uint64_t used_ns(CpuNs clock_ns, uint64_t threads_ns, uint64_t left_out_ns) const;

  recording::Writer& writer_;
  StackRecorder stacks_;
  std::optional<CodeNames> code_names_;  // of the image
  SessionClock clock_;
  pid_t pid_, parent_pid_;
  Threads threads_;
  uint32_t row_ = recording::kNone;
  CpuNs start_clock_ns_ = 0;      // the process's CPU clock when sampling of this image began
  CpuNs clock_ns_ = 0;            // and when it was read last
  uint64_t earlier_cpu_ns_ = 0;   // CPU of the images before
  uint64_t ended_clocks_ns_ = 0;  // CPU of the threads that have ended
  uint64_t left_out_ns_ = 0;      // of that, what they used while sampling was off
  recording::Losses losses_;
  recording::Losses written_losses_;
};

}  // namespace sampan::sampler

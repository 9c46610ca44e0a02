// One image of a process that has the shim inside: its rings on the one side, its rows in the
// recording on the other. It lives from the shim's Hello to exec or the process's end.
//
// Everything in the rings was written by a program that may have overwritten it: it is copied, then
// checked; what makes no sense is counted as Loss::kRingCorrupt.
//
// Errors: throws Error when the recording cannot be written.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/time.h"
#include "base/units.h"
#include "sampler/recorder/interrupt_cost.h"
#include "sampler/recorder/kept_files.h"
#include "sampler/recorder/other_roots.h"
#include "sampler/recorder/recorded_process.h"
#include "sampler/rings/handshake.h"
#include "sampler/rings/heap_recorder.h"
#include "sampler/rings/lock_recorder.h"
#include "sampler/rings/marker_recorder.h"
#include "sampler/rings/record_decoder.h"
#include "sampler/rings/step_recorder.h"
#include "wire/control_block.h"
#include "wire/ring.h"

namespace sampan::sampler {

class ShimProcess : public RecordedProcess {
 public:
  struct Origin {
    pid_t pid;
    pid_t parent_pid;
    std::string executable;
    SessionClock clock;
    MonotonicNs start_ns;  // of this image
    CpuNs start_clock_ns;  // the process's CPU clock when this image began
    OpenIntervals::Switches switches = {};
    bool python = true;                            // stacks have Python's frames, too
    OtherRoots* roots = nullptr;                   // outlives the process
    KeptFiles* kept = nullptr;                     // the same
    std::shared_ptr<const ProcessRoot> root = {};  // when it joined; null: ours
  };
  ShimProcess(recording::Writer& writer, const Origin& origin, SharedMemory memory);

  struct Drained {
    size_t records = 0;
    double fullest = 0;  // share of the fullest ring, or lane, that was in use
  };
  // Reads what the rings hold now. First the head of every thread ring is noted, then the process
  // ring is read to its end, then the thread rings up to the notes: a module is announced before
  // the samples in it, so every sample finds its module. The lanes of markers are noted before all
  // that and read after it: their threads are known then.
  Drained read_rings();

  // Reads the rings for the last time. How it ended it has said itself, where the kernel does not.
  ExitState finish(const End& end) override;
  void leave(MonotonicNs time_ns) override;
  void end_segment(MonotonicNs time_ns) override;
  void drain() override { read_rings(); }
  void refresh(MonotonicNs) override { write_losses(); }
  // The program may pause and resume, too.
  void set_paused(bool paused, MonotonicNs time_ns) override;
  // What it records besides its CPU, if it has the wrappers.
  void set_watched(recording::Watched what, uint64_t setting, MonotonicNs time_ns);
  // As far as it is known outside: of sections, as of the last read_rings().
  bool sampling() const override;
  // Its threads follow, each at its next sample.
  void set_rate(uint32_t rate_hz) override;
  // Makes the handlers in the process return at once.
  void disable() override;
  bool tells_its_end() const override { return true; }
  // kNone for a thread that has not announced itself.
  uint32_t thread_row(pid_t tid) const override;
  wire::TraceContext context_of(pid_t tid) const override;
  // For walks from outside the modules are looked up a second time: the shim announces where the
  // loader has put them, not what is in them, nor what the program itself has mapped of them.
  ProcessModules& modules() override { return outside().modules; }
  RemoteWalker& walker() override { return outside().walker; }
  PythonReader* python() override { return has_python_ ? &outside().python : nullptr; }
  void refresh_modules(MonotonicNs time_ns) override;
  bool find_code(MonotonicNs time_ns) override;

  // What it asks for, and the memory for the answer, which may come when this object is gone.
  wire::Outside asks() const;
  std::shared_ptr<SharedMemory> memory() const { return memory_; }

  // CPU that samples have cost its threads: what it says of its handlers, and for each signal as
  // much as one costs here.
  uint64_t cost_ns(const SignalCost& signal) const;

 private:
  // Between two searches for unknown code. It doubles as long as they find nothing, as in the code
  // that a JIT compiler makes.
  static constexpr uint64_t kShortestSearchPause = kNsPerSecond / 4;
  static constexpr uint64_t kLongestSearchPause = 16 * kNsPerSecond;

  struct Outside {
    explicit Outside(pid_t pid) : modules(pid), walker(modules), python(pid) {}
    ProcessModules modules;
    RemoteWalker walker;
    PythonReader python;
  };
  struct Slot {
    wire::RingReader ring;
    uint64_t limit = 0;    // the head that was noted
    uint64_t corrupt = 0;  // of the ring, when it was read last
    SampleDecoder samples;
    StepRecorder steps;
    std::optional<SampledThread> thread;  // whose slot it is now
  };

  void note_heads(Drained& drained);
  void read_late_frees();
  void drain_process_ring(Drained& drained);
  void drain_thread_ring(Slot& slot, Drained& drained);
  bool read_process_record(uint8_t type, Payload payload);
  bool read_thread_record(Slot& slot, uint8_t type, Payload payload);
  bool start_thread(Slot& slot, const ThreadStartRecord& record);
  bool read_sample(Slot& slot, Payload payload);
  bool read_allocation(Slot& slot, Payload payload);
  bool read_free(Slot& slot, Payload payload);
  bool read_lock_wait(Slot& slot, Payload payload);
  bool read_release(Slot& slot, Payload payload);
  LockRecorder::Place place_of(Slot& slot, MonotonicNs time_ns);
  uint64_t period_ns(const Slot& slot) const;
  void end_thread_of(Slot& slot, MonotonicNs time_ns, std::optional<CpuNs> clock_ns);
  void note_left_out(uint32_t slot);
  void close_steps();
  void apply_names();
  void load(ModuleLoadRecord record);
  void place(ModuleLoadRecord* record);
  Payload copy(Payload payload);
  void forget_ended_threads();
  std::vector<MarkerRecorder::LiveThread> live_slots() const;
  std::vector<const SampledThread*> live_threads() const override;
  void add_losses(recording::Losses* losses) const override;
  Outside& outside();

  const std::shared_ptr<SharedMemory> memory_;
  wire::RingReader process_ring_;
  uint64_t process_limit_ = 0;
  std::vector<Slot> slots_;
  std::vector<uint32_t> filled_;  // slots whose rings have more than when they were read last
  std::vector<uint8_t> copy_;
  std::unordered_map<int32_t, uint32_t> slot_of_;      // by tid, of those that live
  std::unordered_map<int32_t, uint32_t> thread_rows_;  // by tid, those that ended too
  // Tids and rows of threads that had ended when the latest segment did: when this segment ends,
  // nothing more comes of them.
  std::vector<std::pair<int32_t, uint32_t>> ended_threads_;
  std::unordered_map<int32_t, CpuNs> clocks_at_exit_;  // by tid, from kThreadCpu
  MarkerRecorder markers_;
  HeapRecorder heap_;
  uint64_t late_frees_ = 0;  // LateFrees::count() when they were read last
  LockRecorder locks_;
  MonotonicNs next_search_ns_ = 0;  // for code that is in no module
  uint64_t search_pause_ns_ = kShortestSearchPause;
  std::set<uint64_t> unannounced_;       // AVMAs of modules that the shim does not see
  std::vector<ThreadNameRecord> names_;  // whose threads may not be known yet
  std::optional<ExitRecord> exit_;
  const bool from_its_start_;  // of the process: not after an exec
  const bool has_python_;
  OtherRoots* const roots_;
  KeptFiles* const kept_;
  const std::shared_ptr<const ProcessRoot> first_root_;  // null: it is ours
  std::shared_ptr<const ProcessRoot> root_;              // the latest
  bool root_is_fresh_ = false;                           // looked at since the rings were read last
  size_t threads_seen_ = 0;
  std::unique_ptr<Outside> outside_;  // once it is asked for
};

}  // namespace sampan::sampler

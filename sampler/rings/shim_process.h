// One image of a process of the target: its rings on the one side, its rows in the recording on the
// other. From the shim's Hello to exec or the process's end.
//
// Everything read from the rings was written by a program that may have overwritten it: it is
// copied, then checked; what makes no sense is counted as Loss::kRingCorrupt.
//
// Errors: throws Error when the recording cannot be written.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "recording/writer.h"
#include "sampler/cpu_accounting.h"
#include "sampler/marker_recorder.h"
#include "sampler/record_decoder.h"
#include "sampler/sampled_thread.h"
#include "sampler/shared_memory.h"
#include "sampler/signal_cost.h"
#include "sampler/stack_recorder.h"
#include "wire/control_block.h"
#include "wire/ring.h"

namespace sampan::sampler {

class TargetProcess {
 public:
  struct Origin {
    pid_t pid;
    pid_t parent_pid;
    std::string executable;
    uint64_t session_start_ns;  // CLOCK_MONOTONIC
    uint64_t start_ns;          // of this image, CLOCK_MONOTONIC
    uint64_t start_clock_ns;    // the process's CPU clock when this image began
    OpenIntervals::Switches switches = {};
  };
  TargetProcess(recording::Writer& writer, const Origin& origin, SharedMemory memory);

  struct Drained {
    size_t records = 0;
    double fullest = 0;  // share of the fullest ring, or lane, that was in use
  };
  // Reads what the rings hold now. First every thread ring's head is noted, then the process ring
  // is read to its end, then the thread rings up to the notes: a module is announced before the
  // samples in it, so every sample finds its module. The lanes of markers are noted before all that
  // and read after it: their threads are known then.
  Drained drain();

  struct End {
    uint64_t time_ns;                      // CLOCK_MONOTONIC
    std::optional<uint64_t> cpu_clock_ns;  // the process's CPU clock, if it could still be read
    ExitState exit;
    bool replaced;  // by exec
  };
  // Drains for the last time and writes the ends of the threads and of the process. Returns how it
  // ended, from what it said itself where the kernel did not.
  ExitState finish(const End& end);

  // The segment of the recording ends; what the rings hold was drained. CPU that no sample says yet
  // is the next segment's.
  void end_segment(uint64_t time_ns);

  // Sampling of the process ends here, and it lives on: drains for the last time.
  void leave(uint64_t time_ns);

  // Writes the losses if they have grown since they were written last.
  void write_losses();
  void count_loss(wire::Loss loss) { ++own_losses_[static_cast<size_t>(loss)]; }
  // Makes the handlers in the process return at once.
  void disable();
  // For `sampan ctl`. The program may do the same.
  void set_paused(bool paused, uint64_t time_ns);
  // Its threads follow, each at its next sample.
  void set_rate(uint32_t rate_hz);
  // CPU that samples have cost its threads: what it says of its handlers, and of signals as much
  // as each costs here.
  uint64_t cost_ns(const SignalCost& signal) const;
  // As far as it is known outside: of sections, as of the last drain.
  bool sampling() const;
  // CPU that its threads have used while sampling was off; when it has ended.
  uint64_t left_out_ns() const { return left_out_ns_; }

  // The row of the thread that has this tid now; kNone when it has not announced itself.
  uint32_t thread_row(pid_t tid) const;
  StackRecorder& stacks() { return stacks_; }

  const Origin& origin() const { return origin_; }
  SharedMemory& memory() { return memory_; }

 private:
  struct Slot {
    wire::RingReader ring;
    uint64_t limit = 0;    // the head that was noted
    uint64_t corrupt = 0;  // of the ring, when it was read last
    SampleDecoder samples;
    std::optional<SampledThread> thread;  // whose slot it is now
  };

  void note_heads(Drained& drained);
  void drain_process_ring(Drained& drained);
  void drain_thread_ring(Slot& slot, Drained& drained);
  bool read_process_record(uint8_t type, Payload payload);
  bool read_thread_record(Slot& slot, uint8_t type, Payload payload);
  bool start_thread(Slot& slot, const ThreadStartRecord& record);
  bool add_sample(Slot& slot, Payload payload);
  uint64_t period_ns(const Slot& slot) const;
  void end_thread(Slot& slot, uint64_t time_ns, std::optional<uint64_t> clock_ns);
  void note_left_out(uint32_t slot);
  void apply_names();
  Payload copy(Payload payload);
  uint64_t clock_at_end(const SampledThread& thread) const;
  uint64_t recorded_cpu_ns() const;
  void forget_ended_threads();
  uint64_t session_time(uint64_t monotonic_ns) const;
  std::vector<MarkerRecorder::LiveThread> live_threads() const;

  recording::Writer& writer_;
  Origin origin_;
  SharedMemory memory_;
  uint32_t row_;
  wire::RingReader process_ring_;
  uint64_t process_limit_ = 0;
  std::vector<Slot> slots_;
  std::vector<uint32_t> filled_;  // slots whose rings have more than when they were read last
  StackRecorder stacks_;
  std::vector<uint8_t> copy_;
  std::unordered_map<int32_t, uint32_t> thread_rows_;  // by tid, those that ended too
  // Tids and rows of those that had ended when the latest segment did: when this one does, nothing
  // more comes of them.
  std::vector<std::pair<int32_t, uint32_t>> ended_threads_;
  std::unordered_map<int32_t, uint64_t> clocks_at_exit_;  // by tid, from kThreadCpu
  MarkerRecorder markers_;
  std::vector<ThreadNameRecord> names_;  // whose threads may not be known yet
  std::optional<ExitRecord> exit_;
  uint64_t ended_clocks_ns_ = 0;  // sums over the threads that ended
  uint64_t left_out_ns_ = 0;
  size_t threads_seen_ = 0;
  uint64_t own_losses_[wire::kLossCount] = {};
  recording::Losses written_losses_;
};

}  // namespace sampan::sampler

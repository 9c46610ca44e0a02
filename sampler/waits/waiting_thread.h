// One thread as the wait sampler sees it from look to look: how much of its time it has spent off
// the CPU, and where.
//
// Its time between two looks is CPU, time in the queue for a CPU, and the rest, which it waited.
// The rest is for the wait it was met in: half for that of the earlier look and half for that of
// the later one, all for the one when it was met running at the other, and kept for the next wait
// when it was met running at both. The kernel brings a running thread's CPU up to date at its tick
// only, so a rest may be too large, and the next one negative: the sums are right.
//
// Times are nanoseconds.
#pragma once

#include <cstdint>
#include <optional>

#include "attach/schedstat_file.h"
#include "recording/tables.h"
#include "sampler/stack_recorder.h"

namespace sampan::attach {

// Where a thread waits; rows of the recording.
struct WaitPlace {
  uint32_t wait = recording::kNone;
  uint32_t stack = recording::kNone;
  wire::StopReason stop = wire::StopReason::kRoot;
};

// What is due to be written of a thread: an amount of waiting that ended at a time.
struct Waited {
  uint64_t time_ns = 0;
  uint64_t weight_ns = 0;
};

class WaitingThread {
 public:
  // `since_ns`: from when on its time counts; `times` are those of that moment.
  WaitingThread(SchedstatFile file, uint64_t since_ns, const RunTimes& times)
      : file_(std::move(file)), looked_ns_(since_ns), written_ns_(since_ns), times_(times) {}

  bool is_due(uint64_t now_ns) const { return now_ns >= next_ns_; }
  std::optional<RunTimes> read() const { return file_.read(); }
  bool has_moved(const RunTimes& times) const { return times != times_; }
  // Where it waited at the latest look; nothing when it ran.
  const std::optional<WaitPlace>& place() const { return place_; }
  // Where it waited when it was last met waiting.
  const std::optional<WaitPlace>& last_place() const { return last_place_; }

  // It waits where it waited before.
  void stayed(uint64_t now_ns);
  // It has run since the latest look, and is now in `place`. Returns what it waited in the place
  // before.
  Waited moved(uint64_t now_ns, const RunTimes& times, const std::optional<WaitPlace>& place);
  // It is gone, or looking at it ends. Returns what is left of it.
  Waited ended(uint64_t now_ns, const std::optional<RunTimes>& times);

  // What has gathered since something was written, of a wait that goes on.
  Waited take();
  uint64_t written_ns() const { return written_ns_; }
  // Time in the queue for a CPU, when `at_least` has gathered; else 0.
  uint64_t take_runnable(uint64_t at_least_ns);

  uint32_t row = recording::kNone;  // in the recording's table of threads
  sampler::StackRecorder::Previous previous_stack;

 private:
  int64_t pass(uint64_t now_ns, const RunTimes& times);
  Waited take_at(uint64_t time_ns);

  SchedstatFile file_;
  uint64_t looked_ns_;
  uint64_t next_ns_ = 0;
  uint64_t since_ns_ = 0;  // when it was first met in `place_`
  uint64_t written_ns_;
  RunTimes times_;
  std::optional<WaitPlace> place_, last_place_;
  int64_t waited_ns_ = 0;  // not written yet
  uint64_t runnable_ns_ = 0;
};

}  // namespace sampan::attach

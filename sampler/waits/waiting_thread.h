// One thread of the wait sampler: how much of its time it has spent off the CPU, and where.
//
// The time between two looks is CPU, time in the queue for a CPU, and the rest, in which the thread
// waited. The rest counts half for the wait at the earlier look and half for the wait at the later
// one. If the thread ran at one of the looks, all of it counts for the wait at the other; if it ran
// at both, it is kept for the next wait. The kernel brings a running thread's CPU up to date at its
// tick only, so one rest may be too large and the next one negative; the sums are right.
//
// Linux 6.12 and later count a whole sleep as time in the queue, now and then: a thread that goes to
// sleep may stay in the queue for a while, and be moved to another CPU meanwhile. A thread that was seen
// asleep was not in the queue then, so no more counts than has passed since.
//
// Times are nanoseconds.
#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"
#include "recording/tables.h"
#include "sampler/process/proc_task.h"
#include "sampler/recorder/stack_recorder.h"

namespace sampan::sampler {

// Where a thread waits; rows of the recording.
struct WaitPlace {
  uint32_t wait = recording::kNone;
  uint32_t stack = recording::kNone;
  wire::StopReason stop = wire::StopReason::kRoot;
  wire::TraceContext context = {};
};

// An amount of waiting that ended at a time, to be written.
struct Waited {
  MonotonicNs time_ns = 0;
  uint64_t weight_ns = 0;
};

class WaitingThread {
 public:
  // Its time counts from `since_ns` on; `times` are those of that moment.
  WaitingThread(SchedstatFile file, MonotonicNs since_ns, const RunTimes& times)
      : file_(std::move(file)),
        looked_ns_(since_ns),
        queue_since_ns_(since_ns),
        written_ns_(since_ns),
        times_(times) {}

  bool is_due(MonotonicNs now_ns) const { return now_ns >= next_ns_; }
  std::optional<RunTimes> read() const { return file_.read(); }
  bool has_moved(const RunTimes& times) const { return times != times_; }
  // Where it waited at the latest look; nothing if it ran.
  const std::optional<WaitPlace>& place() const { return place_; }
  // Where it waited when it was last seen waiting.
  const std::optional<WaitPlace>& last_place() const { return last_place_; }

  // It still waits in the same place.
  void stayed(MonotonicNs now_ns);
  // It has run since the latest look, and is now in `place`. Returns the waiting to be written for
  // the place before.
  Waited moved(MonotonicNs now_ns, const RunTimes& times, const std::optional<WaitPlace>& place);
  // It is gone, or sampling ends. Returns the waiting that is left.
  Waited ended(MonotonicNs now_ns, const std::optional<RunTimes>& times);

  // The waiting that is not written yet, of a wait that goes on.
  Waited take();
  MonotonicNs written_ns() const { return written_ns_; }
  // Time in the queue for a CPU that is not written yet, if it is `at_least` that much; else 0.
  uint64_t take_runnable(uint64_t at_least_ns);

  uint32_t row = recording::kNone;  // in the recording's table of threads
  StackRecorder::Previous previous_stack;

 private:
  int64_t pass(MonotonicNs now_ns, const RunTimes& times);
  Waited take_at(MonotonicNs time_ns);

  SchedstatFile file_;
  MonotonicNs looked_ns_;
  // Time in the queue that the kernel counts next began after this: after the latest look that saw the
  // thread asleep, or after the look before the latest one that saw it move.
  MonotonicNs queue_since_ns_;
  MonotonicNs next_ns_ = 0;
  MonotonicNs since_ns_ = 0;  // when it was first seen in `place_`
  MonotonicNs written_ns_;
  RunTimes times_;
  std::optional<WaitPlace> place_, last_place_;
  int64_t waited_ns_ = 0;  // not written yet
  uint64_t runnable_ns_ = 0;
};

}  // namespace sampan::sampler

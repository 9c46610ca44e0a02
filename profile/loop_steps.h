// What event loops ran, from the steps of Profile::markers: the time of each task, and the steps that
// held a loop for long.
//
// A step is known from samples alone. It lasted at least from the first sample in it to the last one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "profile/profile.h"
#include "profile/view.h"
#include "profile/weights.h"

namespace sampan::profile {

// The rows of the table of steps that the view's samples were taken in, by position in view.samples;
// kNone: in no step. A wait is in a step if its middle is.
std::vector<uint32_t> steps_of_samples(const View& view);

// The tasks of the view's samples, in words: the name of the task, or, if it was given none, that of
// its coroutine.
struct TaskLabels {
  std::vector<std::string> texts = {""};  // the first: of samples in no task
  std::vector<uint32_t> of_samples = {};  // into texts, by position in view.samples; empty: all 0
};
TaskLabels task_labels(const View& view);

// Whether a task has this name because it was given none: "Task-12".
bool is_default_name(std::string_view name);

// Tasks of one name and coroutine. Those without a name of their own are together.
struct TaskRow {
  StepKind kind = StepKind::kUnknown;
  bool outside = false;    // no task: what the threads of event loops did outside of steps
  uint32_t name = 0;       // into Markers::texts; 0: none, or the default one of several
  uint32_t coroutine = 0;  // into Markers::texts
  uint64_t tasks = 0;      // how many have samples
  Weight cpu = {}, waiting = {}, runnable = {};
  uint64_t longest_ns = 0;  // of its steps
};
// Most time first, what is outside of steps last. Empty where no thread has an event loop.
std::vector<TaskRow> task_table(const View& view);

// A step that held its loop for long.
struct LoopBlock {
  SessionNs begin_ns = 0, end_ns = 0;  // its first and its last sample
  uint32_t step = kNone;               // the row of the table of steps with the longest time in it
  uint64_t samples = 0;
  // What it did: functions, from the callback inwards, as long as one has more than half of the time
  // on CPU and waiting. Among C functions, the innermost alone.
  std::vector<uint32_t> functions = {};
};
// Longest first.
std::vector<LoopBlock> loop_blocks(const View& view, uint64_t least_ns);

inline constexpr uint64_t kLongBlock = 100'000'000;  // ns; asyncio's own slow_callback_duration

}  // namespace sampan::profile

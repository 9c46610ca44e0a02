// Markers: rows that the program reported while it ran, through include/sampan/markers.h. The
// recording stores them and the model shows them. There may be ten million spans, so both use the
// same rows: loading a recording moves them.
//
// Times are nanoseconds since the session's start. `thread` and `process` are rows of the tables of
// threads and processes; a marker of a whole process has no thread. Names and texts are what the
// program gave, made valid UTF-8 and cut where they were too long.
//
// Hosted only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"

namespace sampan::vocabulary {

// How an interval ended.
enum class Closed : uint8_t {
  kByProgram = 0,
  kByThreadEnd = 1,  // still open when its thread ended: closed there
  kByProcessEnd =
      2,  // still open when its process ended, was replaced by exec, or left the recording
  kBySegmentEnd = 3,  // a section that was still open when the segment ended; continues in the next
};
inline constexpr unsigned kClosedCount = 4;

enum class SpanKind : uint8_t {
  kNested = 0,  // begun and ended by one thread, inside the span that was open there
  kAcross = 1,  // begun and ended by id, perhaps by different threads; may overlap others
};
inline constexpr unsigned kSpanKindCount = 2;

struct Span {
  SessionNs begin_ns = 0;
  SessionNs end_ns = 0;
  uint64_t id = 0;         // not 0; unique in its process
  uint64_t parent_id = 0;  // 0: none. The parent may have been lost
  uint32_t name = 0;       // into Markers::texts
  uint32_t text = 0;       // the value that it was given; 0: none
  uint32_t thread = 0;     // that began it
  uint32_t end_thread = 0;
  SpanKind kind = SpanKind::kNested;
  Closed closed = Closed::kByProgram;
};

struct Event {
  SessionNs time_ns = 0;
  uint32_t thread = 0;
  uint32_t name = 0;
  uint32_t text = 0;
};

// The value of a counter after it was added to or set. Counters belong to processes.
struct CounterValue {
  SessionNs time_ns = 0;
  double value = 0;
  uint32_t thread = 0;  // that changed it
  uint32_t name = 0;
};

// One interval of a section. A section that was started again has several.
struct Section {
  SessionNs begin_ns = 0;
  SessionNs end_ns = 0;
  uint32_t process = 0;
  uint32_t thread = UINT32_MAX;  // kNone: all threads of the process
  uint32_t name = 0;
  Closed closed = Closed::kByProgram;
};

// Sampling was off: asked for by the program or by `sampan ctl`, or because no section was open.
struct Pause {
  SessionNs begin_ns = 0;
  SessionNs end_ns = 0;
  uint32_t process = 0;
};

// The name and the position that a thread or a process was given.
struct Label {
  SessionNs time_ns = 0;
  uint32_t process = 0;
  uint32_t thread = UINT32_MAX;  // kNone: the process itself
  uint32_t text = 0;             // 0: unchanged
  std::optional<int32_t> order = {};
};

// What the event loop of a thread ran, as its samples saw it: a step is one callback of the loop. The
// times are those of the first and of the last sample in which the same task was seen in the step.
enum class StepKind : uint8_t {
  kTask = 1,      // of a task
  kCallback = 2,  // of no task
  kUnknown = 3,   // of a task that could not be read
};
inline constexpr unsigned kStepKindCount = 4;

struct Step {
  SessionNs begin_ns = 0;
  SessionNs end_ns = 0;
  // Rows of a thread with the same number are one step, in which several tasks were seen. 0: not
  // known, which is one sample.
  uint64_t id = 0;
  uint64_t task = 0;  // the same in all steps of a task, in its process; 0: none
  uint32_t thread = 0;
  uint32_t name = 0;  // into Markers::texts: of the task; 0: none
  uint32_t text = 0;  // the qualified name of its coroutine; 0: not known
  StepKind kind = StepKind::kUnknown;
};

struct Markers {
  std::vector<std::string> texts = {""};  // each once; 0 is ""
  std::vector<Span> spans;
  std::vector<Event> events;
  std::vector<CounterValue> counters;
  std::vector<Section> sections;
  std::vector<Pause> pauses;
  std::vector<Label> labels;
  std::vector<Step> steps;

  // Whether the program reports nothing. Steps do not count: they are found by sampling.
  bool empty() const {
    return spans.empty() && events.empty() && counters.empty() && sections.empty();
  }
};

}  // namespace sampan::vocabulary

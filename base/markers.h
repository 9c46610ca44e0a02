// What the program itself said while it ran, by include/sampan/markers.h. Rows like those of
// tables.h; times are nanoseconds since the session's start.
//
// Threads are rows of the table of threads; where a marker is of a whole process it has the row of
// the process instead. Names and texts are what the program gave, made valid UTF-8, cut where they
// were too long.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sampan::recording {

// How an interval came to its end.
enum class Closed : uint8_t {
  kByProgram = 0,
  kByThreadEnd = 1,   // open when its thread ended: closed there
  kByProcessEnd = 2,  // open when its process ended, was replaced by exec, or left the recording
  kBySegmentEnd = 3,  // of a section: open when the segment ended; it goes on in the next
};
inline constexpr unsigned kClosedCount = 4;

enum class SpanKind : uint8_t {
  kNested = 0,  // begun and ended by one thread, inside the span that was open there
  kAcross = 1,  // begun and ended by id, perhaps by different threads; overlaps others freely
};
inline constexpr unsigned kSpanKindCount = 2;

struct Span {
  uint64_t begin_ns = 0;
  uint64_t end_ns = 0;
  uint64_t id = 0;         // not 0; unique in its process
  uint64_t parent_id = 0;  // 0: none. May be of a span that was lost
  uint32_t name = 0;       // into Markers::texts
  uint32_t text = 0;       // the value that it was given; 0: none
  uint32_t thread = 0;     // that began it
  uint32_t end_thread = 0;
  SpanKind kind = SpanKind::kNested;
  Closed closed = Closed::kByProgram;
};

struct Event {
  uint64_t time_ns = 0;
  uint32_t thread = 0;
  uint32_t name = 0;
  uint32_t text = 0;
};

// What a counter stood at after it was added to or set. Counters are of a process.
struct CounterValue {
  uint64_t time_ns = 0;
  double value = 0;
  uint32_t thread = 0;  // that changed it
  uint32_t name = 0;
};

// One interval of a section. A section that was started again has several.
struct Section {
  uint64_t begin_ns = 0;
  uint64_t end_ns = 0;
  uint32_t process = 0;
  uint32_t thread = UINT32_MAX;  // kNone: of all threads
  uint32_t name = 0;
  Closed closed = Closed::kByProgram;
};

// Sampling was off, asked for by the program or by `sampan ctl`, or because no section was open.
struct Pause {
  uint64_t begin_ns = 0;
  uint64_t end_ns = 0;
  uint32_t process = 0;
};

// What a thread, or a process, is to be called and where it is to stand.
struct Label {
  uint64_t time_ns = 0;
  uint32_t process = 0;
  uint32_t thread = UINT32_MAX;  // kNone: of the process
  uint32_t text = 0;             // 0: as before
  std::optional<int32_t> order = {};
};

struct Markers {
  std::vector<std::string> texts = {""};  // each once; 0 is ""
  std::vector<Span> spans;
  std::vector<Event> events;
  std::vector<CounterValue> counters;
  std::vector<Section> sections;
  std::vector<Pause> pauses;
  std::vector<Label> labels;

  bool empty() const {
    return spans.empty() && events.empty() && counters.empty() && sections.empty();
  }
};

}  // namespace sampan::recording

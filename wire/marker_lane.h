// What the program says through include/sampan/markers.h, in shared memory: lanes of records, the
// spans that are open now, and the names.
//
// A lane is a ring of cells with many producers (threads that share it, and signal handlers that
// interrupt a producer on its own thread) and one consumer, the collector.
//
//   - A producer claims cells by moving `head` (compare-and-swap, never past tail + kLaneCells),
//     writes them, and publishes the record by storing position + 1 into the first cell's
//     `sequence` (release). Zero-filled memory is an empty lane.
//   - The consumer takes the record at `tail` when its `sequence` is tail + 1. A producer that was
//     killed, or jumped out of a signal handler, leaves a hole: cells that never are published. The
//     consumer steps over it when what follows has been published for a while, or the process has
//     ended; it counts that.
//   - Nobody waits. A record that does not fit is dropped, and counted in `dropped`.
//   - Nobody trusts the other side: see wire/ring.h.
//
// A nested span is one record, written at its end: so it is there whole or not at all. Until then
// it stands among the open spans of its thread's slot, where the collector finds it when the
// process is killed. Times are CLOCK_MONOTONIC nanoseconds.
//
// Freestanding: linked into the target.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace sampan::wire {

enum class MarkerType : uint8_t {
  kSpan = 1,          // value: begin, end, id, parent, 0; flags: kClosedByThreadEnd
  kAcrossBegin = 2,   // value: time, id, parent
  kAcrossEnd = 3,     // value: time, id
  kSpanText = 4,      // value: id; text
  kSpanName = 5,      // value: id; of an open span whose name is not interned
  kEvent = 6,         // value: time; text
  kCounter = 7,       // value: time, the bits of the double that it stands at
  kSectionStart = 8,  // value: time; flags: kCallingThread
  kSectionStop = 9,   // value: time; flags: kCallingThread
  kThreadLabel = 10,  // value: time, order; flags: kHasOrder; the label is the text
  kProcessLabel = 11,
  kPause = 12,   // value: time. Sampling is off from now on ...
  kResume = 13,  // ... and on again
};

inline constexpr uint16_t kCallingThread = 1;  // a section of one thread, not of all
inline constexpr uint16_t kHasOrder = 1;
inline constexpr uint16_t kClosedByThreadEnd = 1;  // recording::Closed

// The first cell's bytes. The bytes of the name, then those of the text follow in the next cells.
struct MarkerRecord {
  uint8_t type;
  uint8_t cells;  // of the whole record, at least 1
  uint16_t flags;
  int32_t tid;         // of the thread that says it; 0: of none
  uint32_t name;       // kInlineName, or an index into the names
  uint16_t name_size;  // of the name that follows; 0 when it is interned
  uint16_t text_size;
  uint64_t value[5];
};
inline constexpr uint32_t kInlineName = UINT32_MAX;

struct MarkerCell {
  std::atomic<uint64_t> sequence;
  uint8_t bytes[56];
};
static_assert(sizeof(MarkerCell) == 64 && sizeof(MarkerRecord) == sizeof(MarkerCell::bytes));

// Longer names and texts are cut by the producer: see markers.h.
inline constexpr size_t kMaxMarkerText = 512;
inline constexpr size_t kMaxRecordCells = 1 + (2 * kMaxMarkerText + 55) / 56;

struct LanePositions {
  alignas(64) std::atomic<uint64_t> head;  // the next cell to be claimed; by the producers
  std::atomic<uint64_t> dropped;           // records that did not fit
  alignas(64) std::atomic<uint64_t> tail;  // by the consumer
};

inline constexpr size_t kLaneCells = size_t{1} << 14;
inline constexpr uint32_t kLaneCount = 64;  // a thread uses the lane of its slot modulo that

// The nested spans that a thread has open, outermost first. `depth` counts those too that are too
// deep for `spans`. An entry is valid when its id is not 0: the id is stored last at the begin, and
// cleared at the end, when the record is written: a process that is killed in between leaves both.
struct OpenSpan {
  std::atomic<uint64_t> id;
  uint64_t begin_ns;
  uint64_t parent_id;
  uint32_t name;  // kInlineName: a kSpanName was written
  uint32_t reserved;
};
inline constexpr uint32_t kMaxOpenSpans = 112;
struct OpenSpans {
  std::atomic<uint32_t> depth;
  OpenSpan spans[kMaxOpenSpans];
};

// Names, each once, in the order of their appearance: `text` holds name after name. An entry is
// valid below `count`, which is published after it.
inline constexpr uint32_t kMaxMarkerNames = 1 << 15;
inline constexpr size_t kMarkerNamesText = size_t{1} << 21;
struct MarkerNames {
  std::atomic<uint32_t> count;
  std::atomic<uint32_t> used;  // bytes of `text`
  struct Entry {
    uint32_t offset;
    uint32_t size;
  } entries[kMaxMarkerNames];
  uint8_t text[kMarkerNamesText];
};

}  // namespace sampan::wire

// The markers that the program sets (include/sampan/markers.h), in shared memory: lanes of records,
// the spans that are open now, and the names.
//
// A lane is a ring of cells with many producers (threads that share it, and signal handlers that
// interrupt a producer on its own thread) and one consumer, the collector.
//
//   - A producer claims cells by moving `head` (compare-and-swap, never past tail + kLaneCells),
//     writes them, and publishes the record by storing position + 1 into the first cell's
//     `sequence` (release). Zero-filled memory is an empty lane.
//   - The consumer takes the record at `tail` when its `sequence` is tail + 1. A producer that was
//     killed, or jumped out of a signal handler, leaves a hole: cells that are never published. The
//     consumer skips and counts it when what follows has been published for a while, or when the
//     process has ended.
//   - Neither side waits. A record that does not fit is dropped and counted in `dropped`.
//   - Neither side trusts the other: see wire/ring.h.
//
// A nested span is one record, written at its end, so it is there whole or not at all. Until then it
// is among the open spans of its thread's slot, where the collector finds it when the process is
// killed. Times are CLOCK_MONOTONIC nanoseconds.
//
// Freestanding: linked into the target.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace sampan::wire {

enum class MarkerType : uint8_t {
  kSpan = 1,          // value: begin, end, id, parent, 0; flags: kClosedByThreadEnd
  kAcrossBegin = 2,   // value: time, id, parent
  kAcrossEnd = 3,     // value: time, id
  kSpanText = 4,      // value: id; text
  kSpanName = 5,      // value: id; of an open span whose name is not interned
  kEvent = 6,         // value: time; text
  kCounter = 7,       // value: time, the bits of its value as a double
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

// The first cell's bytes. The next cells hold the bytes of the name, then those of the text.
struct MarkerRecord {
  uint8_t type;
  uint8_t cells;  // of the whole record, at least 1
  uint16_t flags;
  int32_t tid;         // of the thread that set the marker; 0: none
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

// The nested spans that a thread has open, outermost first. `depth` also counts spans that are too
// deep for `spans`. An entry is valid when its id is not 0. The id is stored last at the begin, and
// cleared at the end after the record is written: a process that is killed in between leaves both.
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

// Each name once, in order of appearance: `text` holds name after name. Entries below `count` are
// valid; `count` is published after the entry.
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

// The producers' side of a lane. Each thread that shares the lane has a writer of its own. A signal
// handler may interrupt its thread's writer and use it. Async-signal-safe.
class LaneWriter {
 public:
  constexpr LaneWriter() = default;
  LaneWriter(LanePositions* positions, std::span<MarkerCell> cells)
      : positions_(positions), cells_(cells.data()) {}

  // The record, with name and text behind it: at most kMaxMarkerText bytes each. `cells` and the
  // sizes are filled in. False: dropped, and counted.
  bool write(MarkerRecord record, std::string_view name = {}, std::string_view text = {}) {
    const size_t bytes = name.size() + text.size();
    const size_t cells = 1 + (bytes + sizeof MarkerCell::bytes - 1) / sizeof MarkerCell::bytes;
    uint64_t position = 0;
    if (!claim(cells, &position)) return false;
    record.cells = static_cast<uint8_t>(cells);
    record.name_size = static_cast<uint16_t>(name.size());
    record.text_size = static_cast<uint16_t>(text.size());
    MarkerCell& first = cell(position);
    std::memcpy(first.bytes, &record, sizeof record);
    if (bytes != 0) copy(position + 1, name, text);
    first.sequence.store(position + 1, std::memory_order_release);
    return true;
  }

 private:
  MarkerCell& cell(uint64_t position) { return cells_[position % kLaneCells]; }

  bool claim(size_t cells, uint64_t* position) {
    std::atomic_ref<uint64_t> seen(seen_tail_);
    uint64_t head = positions_->head.load(std::memory_order_relaxed);
    do {
      // The tail is read only when the room seen last is used up: the consumer writes its line.
      if (head + cells - seen.load(std::memory_order_relaxed) > kLaneCells) {
        const uint64_t tail = positions_->tail.load(std::memory_order_acquire);
        seen.store(tail, std::memory_order_relaxed);
        // The head must not be older than the tail, or the room between them would be wrong.
        head = positions_->head.load(std::memory_order_relaxed);
        if (head + cells - tail > kLaneCells) {
          positions_->dropped.fetch_add(1, std::memory_order_relaxed);
          return false;
        }
      }
    } while (
        !positions_->head.compare_exchange_weak(head, head + cells, std::memory_order_relaxed));
    *position = head;
    return true;
  }

  void copy(uint64_t position, std::string_view name, std::string_view text) {
    size_t used = 0;
    for (std::string_view part : {name, text}) {
      while (!part.empty()) {
        const size_t room = sizeof MarkerCell::bytes - used;
        const size_t size = part.size() < room ? part.size() : room;
        std::memcpy(cell(position).bytes + used, part.data(), size);
        part.remove_prefix(size);
        used += size;
        if (used == sizeof MarkerCell::bytes) {
          used = 0;
          ++position;
        }
      }
    }
  }

  LanePositions* positions_ = nullptr;
  MarkerCell* cells_ = nullptr;
  uint64_t seen_tail_ = 0;
};

// The consumer's side of a lane. The target can write the same memory: positions, sizes and bytes are
// copied once, then checked. Invalid records are counted and skipped, up to the next record that was
// published.
class LaneReader {
 public:
  // A copy of a complete record whose sizes fit.
  struct Marker {
    MarkerRecord record;
    std::span<const uint8_t> name;  // empty when it is interned; until the next call
    std::span<const uint8_t> text;
  };

  LaneReader() = default;
  LaneReader(LanePositions* positions, std::span<MarkerCell> cells)
      : positions_(positions), cells_(cells) {}

  // What has been claimed so far; pass it to `next` to read no further than that.
  uint64_t head() const { return positions_->head.load(std::memory_order_acquire); }
  // Cells that are claimed and not read yet, up to `head`.
  uint64_t used(uint64_t head) const { return head - position_; }

  // Reads the next record before `limit`. False when there is none, or when it is not published yet.
  bool next(uint64_t limit, Marker& marker);
  // There are cells before `limit` that `next` cannot get past.
  bool blocked(uint64_t limit) const { return position_ != limit; }
  // Skips the cells that are in the way, up to the next published record. Where there is none, up to
  // `limit` if the process has ended: otherwise a producer may still publish them.
  void step_over_hole(uint64_t limit, bool ended);
  // Gives all that was read back to the producers.
  void release();

  uint64_t corrupt() const { return corrupt_; }  // invalid records
  uint64_t holes() const { return holes_; }      // records that were never completed
  uint64_t dropped() const { return positions_->dropped.load(std::memory_order_relaxed); }

 private:
  const MarkerCell& cell(uint64_t position) const { return cells_[position & (cells_.size() - 1)]; }
  bool published(uint64_t position) const {
    return cell(position).sequence.load(std::memory_order_acquire) == position + 1;
  }
  // The first published record in [from, limit); limit when there is none.
  uint64_t next_published(uint64_t from, uint64_t limit) const;
  bool copy(uint64_t limit, Marker& marker);

  LanePositions* positions_ = nullptr;
  std::span<MarkerCell> cells_;
  uint64_t position_ = 0;  // our own copy of tail: the shared one is never read back
  uint64_t released_ = 0;
  uint64_t corrupt_ = 0;
  uint64_t holes_ = 0;
  uint8_t bytes_[kMaxRecordCells * sizeof(MarkerCell::bytes)];
};

}  // namespace sampan::wire

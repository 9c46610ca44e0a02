// The consumer's side of a lane (marker_lane.h).
//
// The memory is the target's as well: positions, sizes and bytes are copied once, then checked.
// What makes no sense is counted and passed over, up to the next record that was published.
#pragma once

#include <cstdint>
#include <span>

#include "wire/marker_lane.h"

namespace sampan::wire {

class LaneReader {
 public:
  // A copy of a record, whole and of sizes that fit.
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

  // The next record before `limit`; false when there is none, or when it has not been published.
  bool next(uint64_t limit, Marker& marker);
  // There are cells before `limit` that `next` cannot get past.
  bool blocked(uint64_t limit) const { return position_ != limit; }
  // Passes over the cells that are in the way, up to the next published record; where there is
  // none, up to `limit`, unless a producer may still come back (`ended` is false).
  void step_over_hole(uint64_t limit, bool ended);
  // Gives all that was read back to the producers.
  void release();

  uint64_t corrupt() const { return corrupt_; }  // records that made no sense
  uint64_t holes() const { return holes_; }      // and such that were never completed
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

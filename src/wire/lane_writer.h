// The producers' side of a lane: see marker_lane.h. One writer for each thread that shares it; a
// signal handler may interrupt its thread's writer and use it.
//
// Async-signal-safe. Freestanding: linked into the target.
#pragma once

#include <cstring>
#include <span>
#include <string_view>

#include "wire/marker_lane.h"

namespace sampan::wire {

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
      // The tail is looked at only when the room seen last is used up: its line is the consumer's.
      if (head + cells - seen.load(std::memory_order_relaxed) > kLaneCells) {
        const uint64_t tail = positions_->tail.load(std::memory_order_acquire);
        seen.store(tail, std::memory_order_relaxed);
        // Not older than the tail, or the room between them would be nonsense.
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

}  // namespace sampan::wire

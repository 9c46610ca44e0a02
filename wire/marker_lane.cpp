#include "wire/marker_lane.h"

namespace sampan::wire {
namespace {

// Producers read the tail, so it is moved only now and then.
constexpr uint64_t kReleaseInterval = 256;

}  // namespace

bool LaneReader::next(uint64_t limit, Marker& marker) {
  if (limit - position_ > cells_.size()) {  // the head is beyond the capacity, or has gone back
    ++corrupt_;
    position_ = limit;
    release();
  }
  if (position_ - released_ >= kReleaseInterval) release();
  while (position_ != limit && published(position_)) {
    if (copy(limit, marker)) {
      position_ += marker.record.cells;
      return true;
    }
    ++corrupt_;
    position_ = next_published(position_ + 1, limit);
  }
  release();
  return false;
}

bool LaneReader::copy(uint64_t limit, Marker& marker) {
  constexpr size_t kCellBytes = sizeof(MarkerCell::bytes);
  MarkerRecord& record = marker.record;
  std::memcpy(&record, cell(position_).bytes, sizeof record);
  if (record.cells == 0 || record.cells > kMaxRecordCells || record.cells > limit - position_ ||
      size_t{record.name_size} + record.text_size > (record.cells - 1u) * kCellBytes) {
    return false;
  }
  for (size_t i = 1; i < record.cells; ++i) {
    std::memcpy(bytes_ + (i - 1) * kCellBytes, cell(position_ + i).bytes, kCellBytes);
  }
  marker.name = {bytes_, record.name_size};
  marker.text = {bytes_ + record.name_size, record.text_size};
  return true;
}

uint64_t LaneReader::next_published(uint64_t from, uint64_t limit) const {
  while (from != limit && !published(from)) ++from;
  return from;
}

void LaneReader::step_over_hole(uint64_t limit, bool ended) {
  if (position_ == limit || limit - position_ > cells_.size()) return;
  const uint64_t next = next_published(position_ + 1, limit);
  if (next == limit && !ended) return;
  ++holes_;
  position_ = next;
}

void LaneReader::release() {
  released_ = position_;
  positions_->tail.store(position_, std::memory_order_release);
}

}  // namespace sampan::wire

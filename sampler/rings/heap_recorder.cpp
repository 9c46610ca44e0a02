#include "sampler/rings/heap_recorder.h"

#include <utility>

namespace sampan::sampler {

std::optional<wire::Loss> HeapRecorder::add(const recording::Allocation& allocation) {
  if (live_.size() == kMostLive) return wire::Loss::kAllocationLost;
  if (!live_.insert(allocation.id).second) return wire::Loss::kRingCorrupt;
  writer_.add(allocation);
  return std::nullopt;
}

std::optional<wire::Loss> HeapRecorder::add(const recording::Free& row) {
  const Waiting now{row, writer_.generation(), false};
  if (write(now)) return std::nullopt;
  if (waiting_.size() == kMostWaiting) return wire::Loss::kFreeLost;
  waiting_.push_back(now);
  return std::nullopt;
}

bool HeapRecorder::write(const Waiting& waiting) {
  if (live_.erase(waiting.row.id) == 0) return false;
  recording::Free row = waiting.row;
  if (waiting.generation != writer_.generation()) row.stack = recording::kNone;
  writer_.add(row);
  return true;
}

void HeapRecorder::end_round() {
  std::erase_if(waiting_, [this](Waiting& waiting) {
    const bool was_old = std::exchange(waiting.is_old, true);
    return write(waiting) || was_old;
  });
}

}  // namespace sampan::sampler

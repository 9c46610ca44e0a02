#include "sampler/rings/heap_recorder.h"

#include <utility>

namespace sampan::sampler {

std::optional<wire::Loss> HeapRecorder::add(const recording::Allocation& allocation) {
  if (live_.size() == kMostLive) return wire::Loss::kAllocationLost;
  if (!live_.emplace(allocation.id, allocation.thread).second) return wire::Loss::kRingCorrupt;
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

std::optional<wire::Loss> HeapRecorder::add_late(uint64_t id, SessionNs time_ns) {
  recording::Free row;
  row.time_ns = time_ns;
  row.id = id;
  return add(row);
}

bool HeapRecorder::write(const Waiting& waiting) {
  const auto found = live_.find(waiting.row.id);
  if (found == live_.end()) return false;
  recording::Free row = waiting.row;
  if (row.thread == recording::kNone) row.thread = found->second;
  live_.erase(found);
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

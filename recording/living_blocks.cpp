#include "recording/living_blocks.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace sampan::recording {

void LivingBlocks::add(uint32_t process, const Allocation& block) {
  OfProcess& blocks = processes_[process];
  if (count_ >= most_) {
    ++blocks.dropped;
    return;
  }
  count_ += blocks.rows.insert_or_assign(block.id, block).second;
}

void LivingBlocks::free(uint32_t process, uint64_t id) {
  const auto found = processes_.find(process);
  if (found != processes_.end()) count_ -= found->second.rows.erase(id);
}

void LivingBlocks::end(uint32_t process) {
  const auto found = processes_.find(process);
  if (found == processes_.end()) return;
  count_ -= found->second.rows.size();
  processes_.erase(found);
}

uint64_t LivingBlocks::take_dropped(uint32_t process) {
  const auto found = processes_.find(process);
  return found == processes_.end() ? 0 : std::exchange(found->second.dropped, 0);
}

std::vector<std::pair<uint32_t, Allocation*>> LivingBlocks::rows() {
  std::vector<std::pair<uint32_t, Allocation*>> all;
  for (auto& [process, blocks] : processes_) {
    const auto first = static_cast<ptrdiff_t>(all.size());
    for (auto& [id, row] : blocks.rows) all.emplace_back(process, &row);
    std::sort(all.begin() + first, all.end(), [](const auto& a, const auto& b) {
      return std::tuple(uint64_t{a.second->time_ns}, a.second->id) <
             std::tuple(uint64_t{b.second->time_ns}, b.second->id);
    });
  }
  return all;
}

}  // namespace sampan::recording

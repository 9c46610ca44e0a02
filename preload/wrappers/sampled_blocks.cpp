#include "preload/wrappers/sampled_blocks.h"

namespace sampan::preload {

bool SampledBlocks::start(uint64_t most_bytes) {
  size_t levels = kMostLevels;
  while (levels > 0 && buckets_below(levels) * sizeof(Bucket) > most_bytes) --levels;
  if (levels == 0) return false;
  void* const mapped =
      memory_.start(buckets_below(1) * sizeof(Bucket), buckets_below(levels) * sizeof(Bucket));
  if (mapped == nullptr) return false;
  buckets_ = static_cast<Bucket*>(mapped);
  levels_ = levels;
  return true;
}

SampledBlocks::Bucket& SampledBlocks::bucket(size_t level, const void* block) const {
  // Fibonacci hashing, of all but the bits that alignment makes zero.
  const uint64_t hash = (reinterpret_cast<uintptr_t>(block) >> 4) * 0x9e3779b97f4a7c15;
  const size_t size = buckets_below(level + 1) - buckets_below(level);
  return buckets_[buckets_below(level) + (hash >> 32) % size];
}

SampledBlocks::Place SampledBlocks::claim(const void* block, bool may_call) {
  for (size_t level = 0; level < levels_; ++level) {
    if (!memory_.reach(buckets_below(level + 1) * sizeof(Bucket), may_call)) return {};
    // Before a block can be there.
    size_t used = levels_used_.load(std::memory_order_relaxed);
    while (used <= level && !levels_used_.compare_exchange_weak(used, level + 1)) {
    }
    Bucket& in = bucket(level, block);
    for (size_t i = 0; i < kPlaces; ++i) {
      uint64_t expected = kEmpty;
      if (in.addresses[i].load(std::memory_order_relaxed) == kEmpty &&
          in.addresses[i].compare_exchange_strong(expected, kClaimed, std::memory_order_acquire)) {
        return {&in.addresses[i], &in.ids[i]};
      }
    }
  }
  return {};
}

void SampledBlocks::publish(const Place& place, const void* block, uint64_t id) {
  count(block);
  place.id->store(id, std::memory_order_relaxed);
  place.address->store(reinterpret_cast<uintptr_t>(block), std::memory_order_release);
}

uint64_t SampledBlocks::remove(const void* block) {
  const auto address = reinterpret_cast<uintptr_t>(block);
  if (address <= kClaimed) return 0;
  const size_t levels = levels_used_.load(std::memory_order_acquire);
  for (size_t level = 0; level < levels; ++level) {
    Bucket& in = bucket(level, block);
    for (size_t i = 0; i < kPlaces; ++i) {
      uint64_t expected = address;
      if (in.addresses[i].load(std::memory_order_acquire) != address) continue;
      const uint64_t id = in.ids[i].load(std::memory_order_relaxed);
      if (in.addresses[i].compare_exchange_strong(expected, kEmpty, std::memory_order_acq_rel)) {
        discount(block);
        return id;
      }
    }
  }
  return 0;
}

void SampledBlocks::count(const void* block) {
  std::atomic<uint8_t>& byte = filter_[filter_index(block)];
  uint8_t now = byte.load(std::memory_order_relaxed);
  while (now != kSaturated && !byte.compare_exchange_weak(now, static_cast<uint8_t>(now + 1),
                                                          std::memory_order_relaxed)) {
  }
}

void SampledBlocks::discount(const void* block) {
  std::atomic<uint8_t>& byte = filter_[filter_index(block)];
  uint8_t now = byte.load(std::memory_order_relaxed);
  while (now != kSaturated && !byte.compare_exchange_weak(now, static_cast<uint8_t>(now - 1),
                                                          std::memory_order_relaxed)) {
  }
}

}  // namespace sampan::preload

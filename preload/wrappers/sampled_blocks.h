// The sampled blocks that are alive: exact addresses, and the ids of their allocations.
//
// In front stands a filter, so that free() of any other block costs one load: a byte for each 16 bytes of
// the heap, modulo its size, with the number of sampled blocks there. The program's own order of
// accesses is that of the filter's. A byte that has reached its maximum stays there.
//
// Lock-free and async-signal-safe. Freestanding: linked into the target.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "preload/support/growing_memory.h"

namespace sampan::preload {

class SampledBlocks {
 public:
  // A place for a block whose allocation is being recorded.
  struct Place {
    std::atomic<uint64_t>* address = nullptr;  // null: all places for this address are taken
    std::atomic<uint64_t>* id = nullptr;
  };

  // Maps the table, where `most_bytes` of address space may be used for it. False when there is no
  // memory. Nothing is found before.
  bool start(uint64_t most_bytes);

  // Whether the block may be in the table; false: it is not.
  bool may_have(const void* block) const {
    return filter_[filter_index(block)].load(std::memory_order_relaxed) != 0;
  }
  // Claims a place; the block is not found yet. The caller publishes it or gives the place back. `may_call`: more memory may be
  // mapped for it.
  Place claim(const void* block, bool may_call);
  void publish(const Place& place, const void* block, uint64_t id);
  void after_fork() { memory_.after_fork(); }
  void give_back(const Place& place) { place.address->store(kEmpty, std::memory_order_release); }
  // Removes the block; its id, or 0 if it is not there. One caller gets the id, whoever else tries.
  uint64_t remove(const void* block);

 private:
  static constexpr uint64_t kEmpty = 0, kClaimed = 1;
  static constexpr size_t kFilterSize = size_t{1} << 18;
  static constexpr uint8_t kSaturated = UINT8_MAX;
  // A block has its place in one bucket, or where that is full, in one of the next level, which is
  // larger. So few samples touch few pages.
  static constexpr size_t kPlaces = 16;
  struct alignas(64) Bucket {
    std::atomic<uint64_t> addresses[kPlaces];
    std::atomic<uint64_t> ids[kPlaces];
  };
  static constexpr size_t kFirstLevel = 1 << 10, kGrowth = 8, kMostLevels = 3;

  static size_t filter_index(const void* block) {
    return (reinterpret_cast<uintptr_t>(block) >> 4) & (kFilterSize - 1);
  }
  static constexpr size_t buckets_below(size_t levels) {
    size_t sum = 0, size = kFirstLevel;
    for (size_t i = 0; i < levels; ++i, size *= kGrowth) sum += size;
    return sum;
  }
  Bucket& bucket(size_t level, const void* block) const;
  void count(const void* block);
  void discount(const void* block);

  std::atomic<uint8_t> filter_[kFilterSize]{};
  Bucket* buckets_ =
      nullptr;  // of all levels. Not among the shim's data: LeakSanitizer looks for pointers there
  size_t levels_ = 0;
  GrowingMemory memory_;
  std::atomic<size_t> levels_used_{};
};

}  // namespace sampan::preload

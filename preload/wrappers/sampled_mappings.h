// The sampled mappings that are alive: a range of addresses each, for a program may unmap or move parts.
//
// Under a lock for a few instructions. A signal handler that has interrupted the holder gives up soon, and what
// it wanted is counted. Freestanding: linked into the target.
#pragma once

#include <atomic>
#include <cstdint>

#include "preload/support/spin_lock.h"

namespace sampan::preload {

class SampledMappings {
 public:
  // Whether nothing is there: one load.
  bool empty() const { return used_.load(std::memory_order_relaxed) == 0; }
  // False when there is no room, or the lock could not be had.
  bool add(uint64_t begin, uint64_t end, uint64_t id);
  // The range has been unmapped, or mapped anew. The id of a mapping of which nothing is left, which is
  // removed; 0: there is none. To be called until there is none. A mapping that loses its middle counts as
  // whole. False when the lock could not be had.
  bool remove(uint64_t begin, uint64_t end, uint64_t* id);
  // In a forked child: the mappings are its parent's.
  void forget();

 private:
  struct Mapping {
    uint64_t begin, end, id;
  };
  static constexpr uint32_t kMost = 4096;

  SpinLock lock_{};
  std::atomic<uint32_t> used_{};
  Mapping mappings_[kMost]{};
};

extern constinit SampledMappings sampled_mappings;

}  // namespace sampan::preload

// Frees that could not be recorded when they happened: the ring was full, or a signal handler had interrupted a
// record. They are kept until a thread can record them, without their stack: else the blocks would seem to live.
//
// Lock-free and async-signal-safe. Freestanding: linked into the target.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace sampan::preload {

class LateFrees {
 public:
  // Keeps the id of a sampled block. False when there are too many.
  bool keep(uint64_t id) {
    for (std::atomic<uint64_t>& place : ids_) {
      uint64_t expected = 0;
      if (place.load(std::memory_order_relaxed) != 0 ||
          !place.compare_exchange_strong(expected, id, std::memory_order_relaxed)) {
        continue;
      }
      count_.fetch_add(1, std::memory_order_relaxed);
      return true;
    }
    return false;
  }

  // Takes one of them; 0: there is none.
  uint64_t take() {
    if (count_.load(std::memory_order_relaxed) == 0) return 0;
    for (std::atomic<uint64_t>& place : ids_) {
      if (place.load(std::memory_order_relaxed) == 0) continue;
      const uint64_t id = place.exchange(0, std::memory_order_relaxed);
      if (id == 0) continue;
      count_.fetch_sub(1, std::memory_order_relaxed);
      return id;
    }
    return 0;
  }

 private:
  std::atomic<uint64_t> ids_[4096]{};
  std::atomic<uint32_t> count_{};  // at least so many, but for those who are just keeping one
};

}  // namespace sampan::preload

// Frees of sampled allocations that found no room in the ring of their thread: a program may free in a millisecond
// what it has allocated in an hour, and a free that is lost lets its block live for ever. Here they have an id alone,
// without time and stack. Any thread puts ids, the collector takes them.
//
// Zero-filled memory is an empty set. Lock-free and async-signal-safe; ids are never 0. Freestanding: linked into the
// target.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace sampan::wire {

class LateFrees {
 public:
  static constexpr size_t kPlaces = size_t{1} << 16;

  // False when the places for this id are taken.
  bool put(uint64_t id) {
    constexpr size_t kProbes = 64;
    constexpr uint64_t kGoldenRatio = 0x9e3779b97f4a7c15;
    const size_t first = (id * kGoldenRatio) >> 48;
    for (size_t i = 0; i < kProbes; ++i) {
      std::atomic<uint64_t>& place = ids_[(first + i) % kPlaces];
      uint64_t nothing = 0;
      if (place.compare_exchange_strong(nothing, id, std::memory_order_relaxed)) {
        count_.fetch_add(1, std::memory_order_release);
        return true;
      }
    }
    return false;
  }

  // How many were put so far. The collector takes when that has grown.
  uint64_t count() const { return count_.load(std::memory_order_acquire); }
  template <typename F>
  void take(F&& each) {
    for (std::atomic<uint64_t>& place : ids_) {
      if (place.load(std::memory_order_relaxed) == 0) continue;
      if (const uint64_t id = place.exchange(0, std::memory_order_relaxed); id != 0) each(id);
    }
  }

 private:
  std::atomic<uint64_t> count_;
  std::atomic<uint64_t> ids_[kPlaces];
};

}  // namespace sampan::wire

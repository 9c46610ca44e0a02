// Which sections are open, by the hash of their names, so that stops can be matched with starts.
// Lock-free. A section that is open twice is there twice.
//
// Async-signal-safe. Freestanding: linked into the target.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace sampan::preload {

template <size_t kSize>
class OpenSections {
 public:
  enum class Stopped : uint8_t { kUnknown, kHere, kInParent };

  // False when there is no room.
  bool start(uint64_t hash) { return replace(kFree, key_of(hash), hash); }

  // Whether it was open; kInParent: since before this process was forked.
  Stopped stop(uint64_t hash) {
    const uint64_t key = key_of(hash);
    if (replace(key, kFree, hash)) return Stopped::kHere;
    return replace(key | kInherited, kFree, hash) ? Stopped::kInParent : Stopped::kUnknown;
  }

  void after_fork() {
    for (std::atomic<uint64_t>& key : keys_) {
      const uint64_t open = key.load(std::memory_order_relaxed);
      if (open != kFree) key.store(open | kInherited, std::memory_order_relaxed);
    }
  }

  void clear() {
    for (std::atomic<uint64_t>& key : keys_) key.store(kFree, std::memory_order_relaxed);
  }

 private:
  static constexpr uint64_t kFree = 0;
  static constexpr uint64_t kInherited = 1;
  static constexpr size_t kTries = kSize < 64 ? kSize : 64;

  static uint64_t key_of(uint64_t hash) { return (hash | 3) ^ kInherited; }

  bool replace(uint64_t from, uint64_t to, uint64_t hash) {
    for (size_t i = 0; i < kTries; ++i) {
      uint64_t expected = from;
      std::atomic<uint64_t>& key = keys_[(hash + i) % kSize];
      if (key.load(std::memory_order_relaxed) == from &&
          key.compare_exchange_strong(expected, to, std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  std::atomic<uint64_t> keys_[kSize];
};

}  // namespace sampan::preload

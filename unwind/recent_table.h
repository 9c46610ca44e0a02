// What was found recently, by address: a small table that all threads share without locks. It is for
// values that lie in cold memory and are needed again and again.
//
// Values are written word by word. A reader that sees words of two values, or a value of an earlier
// generation (a library was unloaded, and another may be there), computes a tag that differs from
// the stored one, and misses.
//
// Freestanding: linked into the target; async-signal-safe.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace sampan::unwind {

// Keys that differ only in their lowest `kIgnoredBits` bits are the same key.
template <typename Value, size_t kEntries, unsigned kIgnoredBits = 0>
class RecentTable {
 public:
  // On a miss `value` is unspecified.
  bool find(uint64_t key, uint64_t generation, Value& value) const {
    key >>= kIgnoredBits;
    const Entry& entry = entries_[index_of(key)];
    uint64_t tag = first_tag(key, generation);
    for (size_t i = 0; i < kWords; ++i) {
      const uint64_t word = entry.words[i].load(std::memory_order_relaxed);
      std::memcpy(reinterpret_cast<char*>(&value) + 8 * i, &word, 8);
      tag = next_tag(tag, word);
    }
    return entry.tag.load(std::memory_order_relaxed) == tag;
  }

  void insert(uint64_t key, uint64_t generation, const Value& value) {
    key >>= kIgnoredBits;
    Entry& entry = entries_[index_of(key)];
    uint64_t tag = first_tag(key, generation);
    for (size_t i = 0; i < kWords; ++i) {
      uint64_t word;
      std::memcpy(&word, reinterpret_cast<const char*>(&value) + 8 * i, 8);
      entry.words[i].store(word, std::memory_order_relaxed);
      tag = next_tag(tag, word);
    }
    entry.tag.store(tag, std::memory_order_relaxed);
  }

 private:
  static_assert(std::is_trivially_copyable_v<Value> && sizeof(Value) % 8 == 0);
  static constexpr size_t kWords = sizeof(Value) / 8;
  static constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;  // 2^64 divided by the golden ratio

  struct alignas(64) Entry {
    std::atomic<uint64_t> tag;
    std::atomic<uint64_t> words[kWords];
  };

  static size_t index_of(uint64_t key) { return (key * kOdd >> 32) % kEntries; }
  static uint64_t first_tag(uint64_t key, uint64_t generation) {
    return (key ^ kOdd) * kOdd + generation;
  }
  static uint64_t next_tag(uint64_t tag, uint64_t word) {
    return ((tag ^ word) * kOdd) ^ (tag >> 29);
  }

  Entry entries_[kEntries] = {};
};

}  // namespace sampan::unwind

// Packed rows by pc: a direct-mapped table that all threads of the process share without locks.
//
// An entry is {key ^ row, row}, two words that are written apart. A reader that catches one old and
// one new word finds another key than its own, and misses (R. Hyatt and T. Mann, "A lock-less
// transposition table implementation", ICGA Journal 25(1), 2002).
//
// The key holds a generation beside the pc. Raising it makes every entry stale at once.
//
// Freestanding: linked into the target; async-signal-safe, but for `start` and `forget`.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "unwind/packed_row.h"

namespace sampan::unwind {

class RowCache {
 public:
  static constexpr size_t kEntries = size_t{1} << 14;

  struct Entry {
    std::atomic<uint64_t> tag;  // key ^ row
    std::atomic<uint64_t> row;
  };
  static_assert(sizeof(Entry) == 16 && std::atomic<uint64_t>::is_always_lock_free);

  // Maps the table: zeros, which no key finds. False when there is no memory.
  bool start() {
    if (entries_ != nullptr) return true;
    void* memory = mmap(nullptr, kEntries * sizeof(Entry), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    entries_ = static_cast<Entry*>(memory);
    return true;
  }

  // Gives the memory back, for who walks other processes, one after the other. No destructor: a
  // static object of the target is never destroyed.
  void stop() {
    if (entries_ != nullptr) munmap(entries_, kEntries * sizeof(Entry));
    entries_ = nullptr;
  }

  uint64_t generation() const { return generation_.load(std::memory_order_acquire); }
  // Makes all entries miss. Walks under way keep writing under the generation they began with.
  void forget() {
    if (entries_ == nullptr) return;
    const uint64_t next = generation_.load(std::memory_order_relaxed) + 1;
    // Each time that the number starts again, entries that have seen it before must be gone.
    if (next % kGenerations == 0) {
      for (size_t index = 0; index < kEntries; ++index) {
        entries_[index].tag.store(0, std::memory_order_relaxed);
        entries_[index].row.store(0, std::memory_order_relaxed);
      }
    }
    generation_.store(next, std::memory_order_release);
  }

  // The row for `pc`; kNone when there is none.
  PackedRow find(uint64_t pc, uint64_t generation) const {
    const Entry& entry = entries_[index_of(pc)];
    const uint64_t row = entry.row.load(std::memory_order_relaxed);
    const uint64_t tag = entry.tag.load(std::memory_order_relaxed);
    return (tag ^ row) == key_of(pc, generation) ? PackedRow(row) : PackedRow();
  }
  void insert(uint64_t pc, uint64_t generation, PackedRow row) {
    Entry& entry = entries_[index_of(pc)];
    entry.row.store(row.bits(), std::memory_order_relaxed);
    entry.tag.store(key_of(pc, generation) ^ row.bits(), std::memory_order_relaxed);
  }
  // Asks for the entry of `pc`, so that it is near when `find` wants it. Any number will do.
  void prefetch(uint64_t pc) const { __builtin_prefetch(&entries_[index_of(pc)]); }

 private:
  // User addresses have 47 bits; the generation takes the 16 above, with a bit of ones so that no
  // key is 0.
  static constexpr uint64_t kGenerations = uint64_t{1} << 15;

  static uint64_t key_of(uint64_t pc, uint64_t generation) {
    return pc ^ ((generation % kGenerations) << 48 | uint64_t{1} << 63);
  }
  static size_t index_of(uint64_t pc) { return (pc ^ (pc >> 14)) % kEntries; }

  Entry* entries_ = nullptr;
  std::atomic<uint64_t> generation_ = 0;
};

}  // namespace sampan::unwind

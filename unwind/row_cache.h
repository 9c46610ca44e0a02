// Packed rows by pc: a direct-mapped table that all threads of the process share without locks.
//
// An entry is {key ^ row, row}, two words that are written one after the other. A reader that sees
// one old and one new word finds a key that is not its own, and misses (R. Hyatt and T. Mann, "A lock-less
// transposition table implementation", ICGA Journal 25(1), 2002).
//
// The key holds the pc and a generation. Raising the generation makes every entry stale at once.
//
// Freestanding: linked into the target; async-signal-safe except `start` and `forget`.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/syscall.h"
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
    const long memory = raw_syscall(SYS_mmap, nullptr, kEntries * sizeof(Entry),
                                    PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory < 0 && memory > -4096) return false;
    entries_ = reinterpret_cast<Entry*>(memory);
    return true;
  }

  // Gives the memory back: for programs that walk other processes one after the other. There is no
  // destructor, because a static object of the target is never destroyed.
  void stop() {
    if (entries_ != nullptr) munmap(entries_, kEntries * sizeof(Entry));
    entries_ = nullptr;
  }

  uint64_t generation() const { return generation_.load(std::memory_order_acquire); }
  // Makes all entries miss. Walks under way go on writing under the generation they began with.
  void forget() {
    if (entries_ == nullptr) return;
    const uint64_t next = generation_.load(std::memory_order_relaxed) + 1;
    // When the number starts again, entries of its earlier use must be gone.
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

 private:
  // User addresses have 47 bits. The generation takes the 16 above, with one bit set so that no key
  // is 0.
  static constexpr uint64_t kGenerations = uint64_t{1} << 15;

  static uint64_t key_of(uint64_t pc, uint64_t generation) {
    return pc ^ ((generation % kGenerations) << 48 | uint64_t{1} << 63);
  }
  static size_t index_of(uint64_t pc) { return (pc ^ (pc >> 14)) % kEntries; }

  Entry* entries_ = nullptr;
  std::atomic<uint64_t> generation_ = 1;  // 0: of a LastWalk without a walk
};

}  // namespace sampan::unwind

// Gives equal keys the same index, in bounded memory: most keys are found again, and one that was
// forgotten just becomes a row a second time.
//
// Sets of eight entries, the most recently used first. The table doubles when a set is full, so
// that nothing is forgotten, up to `max_entries`; from then on the key of the set that was not used
// for longest goes. At 12 bytes per entry of a stack, 2^22 of them are 48 MB.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "recording/tables.h"

namespace sampan::recording {

// Key: plain data with == and `uint64_t hash() const`.
template <typename Key>
class InternTable {
 public:
  explicit InternTable(size_t max_entries) : sets_(64), max_sets_(max_entries / kWays) {}

  // The index of `key`; `next_index`, and is_new is set, when it is not known (any more).
  uint32_t intern(const Key& key, uint32_t next_index, bool* is_new) {
    Set& set = set_of(key);
    *is_new = false;
    for (size_t way = 0; way < kWays; ++way) {
      if (set[way].index == kNone) break;
      if (set[way].key == key) {
        std::rotate(set.begin(), set.begin() + way, set.begin() + way + 1);
        return set[0].index;
      }
    }
    *is_new = true;
    // Full sets in a table that is nearly empty would be keys made to collide.
    while (set_of(key).back().index != kNone && used_ > sets_.size() && sets_.size() < max_sets_) {
      grow();
    }
    Set& home = set_of(key);
    used_ += home.back().index == kNone;
    put(home, {key, next_index});
    return next_index;
  }

  size_t bytes() const { return sets_.size() * sizeof(Set); }

 private:
  static constexpr size_t kWays = 8;
  struct Entry {
    Key key;
    uint32_t index = kNone;
  };
  using Set = std::array<Entry, kWays>;

  Set& set_of(const Key& key) { return sets_[key.hash() & (sets_.size() - 1)]; }
  static void put(Set& set, const Entry& entry) {
    std::move_backward(set.begin(), set.end() - 1, set.end());
    set[0] = entry;
  }
  void grow() {
    std::vector<Set> old(sets_.size() * 2);
    old.swap(sets_);
    for (const Set& set : old) {
      for (size_t way = kWays; way-- > 0;) {  // the least recently used first
        if (set[way].index != kNone) put(set_of(set[way].key), set[way]);
      }
    }
  }

  std::vector<Set> sets_;
  size_t max_sets_;
  size_t used_ = 0;
};

// Finalizer of MurmurHash3 (fmix64).
inline uint64_t mix_bits(uint64_t x) {
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccd;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53;
  return x ^ (x >> 33);
}

}  // namespace sampan::recording

// An interner (base/interner.h) of bounded memory, for recordings that last days. It forgets keys:
// a forgotten key just becomes a row a second time.
//
// Sets of eight entries, the most recently used first. When a set is full, the table doubles, up to
// `max_entries`; from then on the least recently used key of the set is forgotten. An entry of a
// stack has 12 bytes, so 2^22 of them take 48 MB.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/interner.h"
#include "recording/tables.h"

namespace sampan::recording {

// Key: plain data with == and `uint64_t hash() const`.
template <typename Key>
class BoundedInterner {
 public:
  explicit BoundedInterner(size_t max_entries) : sets_(64), max_sets_(max_entries / kWays) {}

  // The index of `key`, which is `next_index` when the key is not known, or not any more.
  Interned intern(const Key& key, uint32_t next_index) {
    Set& set = set_of(key);
    for (size_t way = 0; way < kWays; ++way) {
      if (set[way].index == kNone) break;
      if (set[way].key == key) {
        std::rotate(set.begin(), set.begin() + way, set.begin() + way + 1);
        return {set[0].index, false};
      }
    }
    // A full set in a table that is nearly empty: keys that were made to collide. No reason to grow.
    while (set_of(key).back().index != kNone && used_ > sets_.size() && sets_.size() < max_sets_) {
      grow();
    }
    Set& home = set_of(key);
    used_ += home.back().index == kNone;
    put(home, {key, next_index});
    return {next_index, true};
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

}  // namespace sampan::recording

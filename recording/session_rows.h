// The processes or threads of a session in its Writer. Callers hold handles, which stay valid when
// the recording continues in another file.
//
// A handle is the row's index in the first file. Rows that have ended are kept for a while, because
// records about them may still arrive.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <utility>
#include <vector>

#include "recording/tables.h"

namespace sampan::recording {

// Entry: a row and what belongs to it; it begins as Entry{row}.
template <typename Entry>
class SessionRows {
 public:
  struct Known : Entry {
    uint32_t in_file = kNone;  // the row's index in the present file
    bool ended = false;
  };

  uint32_t add(Entry entry, uint32_t in_file) {
    known_.emplace(next_, Known{std::move(entry), in_file});
    return next_++;
  }

  // Null when the row has been dropped. Valid until the next add() or end().
  Known* find(uint32_t handle) {
    const auto found = known_.find(handle);
    return found == known_.end() ? nullptr : &found->second;
  }

  void end(uint32_t handle) {
    Known* known = find(handle);
    if (known == nullptr || known->ended) return;
    known->ended = true;
    ended_.push_back(handle);
    if (ended_.size() <= kMaxEnded) return;
    known_.erase(ended_.front());
    ended_.pop_front();
  }

  // Marks all rows as not yet in the file. Returns those that have not ended, oldest first.
  std::vector<uint32_t> begin_file() {
    std::vector<uint32_t> living;
    for (auto& [handle, known] : known_) {
      known.in_file = kNone;
      if (!known.ended) living.push_back(handle);
    }
    std::sort(living.begin(), living.end());
    return living;
  }

 private:
  static constexpr size_t kMaxEnded = 8192;

  uint32_t next_ = 0;
  std::unordered_map<uint32_t, Known> known_;
  std::deque<uint32_t> ended_;
};

}  // namespace sampan::recording

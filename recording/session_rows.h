// The processes, or threads, of a session as its Writer knows them: by the handles that callers
// hold, which stay good when the recording goes on in another file.
//
// A handle is the row's index in the first file. What has ended is remembered for a while, because
// something may still be said of it, but not for ever.
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

  // Null when it has been forgotten. Good until the next add() or end().
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

  // Nothing is in the new file yet. Returns what has not ended, in the order of coming.
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

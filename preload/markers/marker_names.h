// Names and texts as the program gives them, cut to what a record holds.
//
// Async-signal-safe. Freestanding: linked into the target.
#pragma once

#include <cstdint>
#include <string_view>

#include "wire/marker_lane.h"

namespace sampan::preload {

// Of bytes; equal in all processes.
uint64_t hash_of(std::string_view text);

// A string of the program, which must outlive it. Null is "". What is longer than a record holds is
// cut at the beginning of a UTF-8 character, and ends in "~" and 16 hexadecimal digits: the hash of
// the whole, so that two long names do not become one.
class MarkerText {
 public:
  explicit MarkerText(const char* given);
  MarkerText(const MarkerText&) = delete;
  MarkerText& operator=(const MarkerText&) = delete;
  std::string_view view() const { return view_; }

 private:
  void cut();

  std::string_view view_;
  char cut_[wire::kMaxMarkerText];
};

}  // namespace sampan::preload

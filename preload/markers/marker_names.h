// Names and texts of the program: cut to what a record holds, and the names of spans, events and
// counters, each once in the memory that is shared with the collector.
//
// Async-signal-safe. Freestanding: linked into the target.
#pragma once

#include <cstdint>
#include <string_view>

#include "wire/marker_lane.h"

namespace sampan::preload {

// The same in all processes.
uint64_t hash_of(std::string_view text);

// A string of the program's, which must outlive this. Null is "". A text that is too long for a
// record is cut at the beginning of a UTF-8 character, and ends in "~" and 16 hexadecimal digits:
// the hash of the whole, so that two long names stay different.
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

enum class NameUse : uint8_t {
  kOrdinary,
  kCounter,  // may use the room that is kept for counters, which need an index
};

// The name's index in wire::MarkerNames; takes no lock when the name is known. kInlineName when there is no room or the lock cannot be had:
// then the name goes into the record itself.
uint32_t index_of_name(std::string_view name, NameUse use);

// In a forked child, before any marker: its shared memory has no names yet.
void marker_names_after_fork();

}  // namespace sampan::preload

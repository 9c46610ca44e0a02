// Segments of one session as one recording, and parts of it by time.
//
// Times of segments are those of the session, whichever of its files they are in: so they join, and
// rebased() makes a recording that begins at its own beginning, as people expect of a file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "recording/reader.h"

namespace sampan::recording {

// Processes and threads that went on from one segment to the next are one row, with what they used
// in all of them; so are sections and pauses. Rows keep no ids.
class Joiner {
 public:
  Joiner();
  ~Joiner();
  // Segments in their order. One that is missing between two is said in Recording::damage.
  void add(Recording segment);
  // Of no segments: an empty recording.
  Recording finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// What happened from `from_ns` to `to_ns`: samples, events and ends of spans of that time, and
// sections and pauses as much of them as lies in it; processes and threads that lived then.
// What the kernel accounted to them in just that time is not known: ends have no CPU then.
Recording cut(Recording recording, uint64_t from_ns, uint64_t to_ns);

// Begins at its segment's begin, and is a segment no more. What began before begins then. Nothing
// changes in a recording that is the first segment, or the only one.
Recording rebased(Recording recording);

}  // namespace sampan::recording

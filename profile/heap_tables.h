// Tables of the heap. Each takes any view of it, and sees the blocks of its threads and its time; the
// heap "at the end" is that at the end of the selected time.
#pragma once

#include <cstdint>
#include <vector>

#include "profile/heap.h"

namespace sampan::profile {

// The blocks that a function allocated itself or by the C and C++ libraries (own_functions.h), and those with all that it
// calls.
struct HeapFunction {
  uint32_t function = kNone;
  Estimate live, live_total;
  Estimate allocated, allocated_total;
};
// Most live bytes first, or most allocated ones.
std::vector<HeapFunction> heap_functions(const View& view, HeapPart first = HeapPart::kLive);

// How many bytes live at the middle of the selected time and at its end, by the function that allocated
// them itself, as above.
struct Growth {
  uint32_t function = kNone;
  double before_bytes = 0, after_bytes = 0;
  double error_bytes = 0;  // of the difference, 95 %

  double bytes() const { return after_bytes - before_bytes; }
};
// Most growth first. Functions without a change are left out.
std::vector<Growth> heap_growth(const View& view);

// Blocks of one stack that were allocated in the first half of the selected time and live at its end.
struct PossibleLeak {
  uint32_t stack = kNone;
  Estimate early;          // these blocks
  double survived = 0;     // their part of the bytes of the first half, 0 to 1
  Estimate late;           // blocks of the second half that live
  SessionNs first_ns = 0;  // when the oldest of them was allocated
};
// Most bytes first.
std::vector<PossibleLeak> possible_leaks(const View& view);

// Which function freed what which function had allocated, both by themselves as above.
struct FreedBy {
  uint32_t allocating = kNone, freeing = kNone;  // functions
  Estimate freed;
};
// Most bytes first.
std::vector<FreedBy> freed_by(const View& view);

// The middle of the selected time.
SessionNs middle_of(const View& view);

}  // namespace sampan::profile

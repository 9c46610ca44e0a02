// Why the walk of a stack ended.
//
// Freestanding: linked into the target. Values are part of the recording format: append only.
#pragma once

#include <cstdint>

namespace sampan::wire {

enum class StopReason : uint8_t {
  kRoot = 0,        // complete: the thread's first frame was reached
  kNoRule = 1,      // no unwind information for a pc, and no frame pointer that helps
  kBadAddress = 2,  // a stack slot outside the thread's stack, or not readable
  kDepthLimit = 3,  // deeper than kMaxFrames
  kBadCfi = 4,      // unwind information that is damaged or uses what the walker does not know
  kUnloading = 5,   // a module was being unloaded: only cached rules could be used
  kNoProgress = 6,  // the next frame would not be above this one: a loop
  kNotCopied = 7,   // the stack goes on where nothing was copied (perf copies 64 KB at most)
};
inline constexpr unsigned kStopReasonCount = 8;

// "no unwind information": for people; never null.
const char* stop_reason_text(StopReason reason);

}  // namespace sampan::wire

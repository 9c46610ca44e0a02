// Stacks that are deeper than what is recorded of one (kMaxFrames).
//
// Freestanding: linked into the target.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wire/record.h"

namespace sampan::wire {

// The deepest stack that is walked: half a millisecond at 8 ns a frame. Of one that is deeper than
// kMaxFrames the innermost and the outermost frames are recorded.
inline constexpr size_t kDeepestStack = 1 << 16;

// Between the two: a frame that stands for those that are left out.
inline constexpr uint64_t kFramesLeftOut = UINT64_MAX - 1;
static_assert(kFramesLeftOut < kShortThread);

// Whether a frame stands for no address, and is no interpreted function either.
constexpr bool is_no_code(uint64_t frame) {
  return frame >= kFramesLeftOut;
}

}  // namespace sampan::wire

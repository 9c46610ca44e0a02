// A stack that is too deep for the room that it has: the first half of the room keeps the innermost frames. The
// other one is a ring of those that came last, so that at the end it has the outermost. In between stands
// wire::kFramesLeftOut.
//
// Freestanding: linked into the target; async-signal-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "wire/deep_stack.h"

namespace sampan::unwind {

class JoinedStack {
 public:
  // `room`: 1 at least.
  explicit JoinedStack(size_t room)
      : room_(std::max(static_cast<uint32_t>(room), 1u)),
        inner_(room_ / 2),
        ring_(room_ - inner_) {}

  // Where the frame `index` goes, counted from the leaf.
  uint32_t place(uint32_t index) const {
    return index < room_ ? index : inner_ + (index - inner_) % ring_;
  }
  // Of `count` frames that were put so. Returns how many there are now. `cfas`: null, or the CFA of each, in
  // the same places; the mark's is that of the last frame that was left out.
  uint32_t join(uint32_t count, std::span<uint64_t> frames, uint64_t* cfas = nullptr) const {
    if (count <= room_) return count;
    const uint32_t oldest = place(count);
    std::rotate(frames.begin() + inner_, frames.begin() + oldest, frames.begin() + room_);
    if (cfas != nullptr) std::rotate(cfas + inner_, cfas + oldest, cfas + room_);
    frames[inner_] = wire::kFramesLeftOut;
    return room_;
  }

 private:
  const uint32_t room_, inner_, ring_;
};

}  // namespace sampan::unwind

// The rows of one thread's last walk, frame by frame, from which its next walk takes them. Most
// frames of a sample are those of the sample before: the same pc at the same place of the stack. Their
// rows stand here one behind the other, where the cache of all rows would be a miss a frame.
//
// Nothing is guessed. A row depends on the pc and on the generation of modules alone; the place only
// says where to look. The words of the stack are read as ever.
//
// It also has room for rows that hold for the walk under way only: of code that is made at run time,
// which may be other code at the next walk.
//
// Memory of zeros is one without a walk. Freestanding: linked into the target; async-signal-safe, for
// one walk at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "unwind/packed_row.h"

namespace sampan::unwind {

class LastWalk {
  struct Frame {
    uint64_t pc, sp;
    PackedRow row;
  };

 public:
  // Frames that are deeper take their rows from the cache.
  static constexpr uint32_t kMostFrames = 1024;

  // kNone when this walk has not met the pc, or has met many others since.
  PackedRow made_row(uint64_t pc) const {
    for (const MadeRow& made : made_) {
      if (made.pc == pc) return made.row;
    }
    return {};
  }
  void remember_made(uint64_t pc, PackedRow row) { made_[next_made_++ % kMade] = {pc, row}; }

  // One walk: it reads the frames of the last one, leaf first, and writes its own.
  class Pass {
   public:
    // `last`: null when there is no last walk, and none is kept.
    Pass(LastWalk* last, uint64_t generation) : last_(last) {
      if (last != nullptr) next_ = last->begin(generation);
    }

    // The row of the frame with this lookup AVMA and this stack pointer; kNone when the last walk had
    // no such frame.
    PackedRow find(uint64_t pc, uint64_t sp) {
      while (next_->sp < sp) ++next_;
      if (next_->sp != sp || next_->pc != pc) return {};
      return next_++->row;  // its caller may lie elsewhere: behind a signal on another stack
    }
    // Frame `index` from the leaf. What is no row is kept as it is, and found as none.
    void add(uint32_t index, uint64_t pc, uint64_t sp, PackedRow row) {
      if (last_ != nullptr && index < kMostFrames) last_->own_[index] = {pc, sp, row};
    }
    // The next pass finds the first `depth` frames that this one has added.
    void end(uint32_t depth) {
      if (last_ != nullptr) last_->end(depth);
    }

   private:
    LastWalk* last_;
    const Frame* next_ = &kEnd;
  };

 private:
  static constexpr Frame kEnd = {0, UINT64_MAX, {}};
  static constexpr uint64_t kMade = 8;
  struct MadeRow {
    uint64_t pc;
    PackedRow row;
  };

  // The frames of the last walk.
  const Frame* begin(uint64_t generation) {
    if (generation != generation_) frames_[known_][0] = kEnd;
    generation_ = generation;
    own_ = frames_[1 - known_];
    if (next_made_ != 0) std::memset(static_cast<void*>(made_), 0, sizeof made_);
    next_made_ = 0;
    return frames_[known_];
  }
  void end(uint32_t depth) {
    own_[std::min(depth, kMostFrames)] = kEnd;
    known_ = 1 - known_;
  }

  uint64_t generation_;  // 0: no walk yet, and what frames_ holds is no end
  uint64_t known_;       // which of the two is the last walk
  Frame* own_;           // the other one
  uint64_t next_made_;
  MadeRow made_[kMade];
  Frame frames_[2][kMostFrames + 1];
};

}  // namespace sampan::unwind

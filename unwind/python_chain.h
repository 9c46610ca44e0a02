// The Python frames of one thread, as the interpreter links them, leaf first, in groups: a group is
// what one run of the eval loop has on its stack. Each group has a mark, an address on the C stack
// inside the eval loop's own frame: its cframe (3.11) or its shim frame (3.12 and later). So the
// native frame [sp, CFA) that contains the mark is the one that ran the group.
//
//   Memory   bool read(uint64_t avma, T& value): false where there is no memory
//            bool on_stack(uint64_t avma): whether this is the thread's C stack
//
// A signal may come while the interpreter links a frame. Such a chain does not end as it should, and
// is not believed: every function here returns false, and `torn()` is true from then on.
//
// Freestanding: linked into the target; async-signal-safe.
#pragma once

#include <cstdint>

#include "unwind/python_layout.h"

namespace sampan::unwind {

// Beyond the deepest stack that is recorded, so that the group of a deep recursion is still found.
inline constexpr unsigned kMaxPythonFrames = 16'384;

struct PythonFrame {
  uint64_t code;         // AVMA of its code object
  uint64_t instruction;  // AVMA of the bytecode that it executes
};

template <typename Memory>
class PythonChain {
 public:
  // `thread`: the PyThreadState.
  PythonChain(Memory& memory, const PythonLayout& layout, uint64_t thread)
      : memory_(memory), layout_(layout) {
    if (!read(thread + layout.thread_frame, cframe_)) return;
    if (layout.cframe_previous == 0) {
      frame_ = cframe_;
      cframe_ = 0;
    } else if (!read(cframe_ + layout.cframe_frame, frame_)) {
      return;
    }
    find_group();
  }

  bool torn() const { return torn_; }
  // Whether there is a group. False at the root of the chain.
  bool has_group() const { return mark_ != 0 && !torn_; }
  uint64_t mark() const { return mark_; }

  // The next frame of the group, towards the root. False at its end: then the next group is the
  // current one.
  bool next(PythonFrame& frame) {
    if (torn_) return false;
    if (group_ended_ || (has_shims() && frame_ == mark_)) {
      next_group();
      return false;
    }
    if (++count_ > kMaxPythonFrames || !read(frame_ + layout_.frame_code, frame.code) ||
        !read(frame_ + layout_.frame_instruction, frame.instruction)) {
      return fail();
    }
    if (!has_shims()) {
      uint8_t is_entry = 0;
      if (!memory_.read(frame_ + layout_.frame_is_entry, is_entry)) return fail();
      group_ended_ = is_entry != 0;
    }
    return read(frame_ + layout_.frame_previous, frame_);
  }

 private:
  bool has_shims() const { return layout_.frame_is_entry == 0; }

  bool fail() {
    torn_ = true;
    return false;
  }
  bool read(uint64_t avma, uint64_t& value) { return memory_.read(avma, value) || fail(); }

  // The group that begins with `frame_`.
  void find_group() {
    mark_ = 0;
    group_ended_ = false;
    if (frame_ == 0) return;
    if (!has_shims()) {
      mark_ = cframe_;
      if (!memory_.on_stack(mark_)) fail();
      return;
    }
    uint64_t frame = frame_;
    for (unsigned i = count_; !memory_.on_stack(frame); ++i) {
      if (i > kMaxPythonFrames || !read(frame + layout_.frame_previous, frame) || frame == 0) {
        fail();
        return;
      }
    }
    mark_ = frame;
  }

  // Groups follow each other up the C stack.
  void next_group() {
    const uint64_t before = mark_;
    if (has_shims()) {
      if (!read(mark_ + layout_.frame_previous, frame_)) return;
    } else {
      uint64_t first = 0;
      if (!read(cframe_ + layout_.cframe_previous, cframe_) ||
          !read(cframe_ + layout_.cframe_frame, first)) {
        return;
      }
      if (first != frame_) {
        fail();
        return;
      }
    }
    find_group();
    if (mark_ != 0 && mark_ <= before) fail();
  }

  Memory& memory_;
  const PythonLayout& layout_;
  uint64_t cframe_ = 0;
  uint64_t frame_ = 0;  // the next one
  uint64_t mark_ = 0;   // 0: no group
  unsigned count_ = 0;
  bool group_ended_ = false;  // without shims: the frame with which the eval loop began was read
  bool torn_ = false;
};

}  // namespace sampan::unwind

// The Python frames of one thread, as CPython 3.11 and later link them, leaf first, in groups: a group
// is what one run of the eval loop has on its stack. Each group has a mark, an address on the C stack
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

#include "unwind/python_frame.h"
#include "unwind/python_layout.h"

namespace sampan::unwind {

template <typename Memory>
class PythonChain {
 public:
  // `thread`: the PyThreadState.
  PythonChain(Memory& memory, const PythonLayout& layout, uint64_t thread)
      : memory_(memory), layout_(layout) {
    if (layout.thread_cframe == 0) {
      if (read(thread + layout.thread_frame, frame_)) find_group();
    } else if (read(thread + layout.thread_cframe, cframe_)) {
      begin();
    }
  }
  // From this cframe towards the root.
  static PythonChain from_cframe(Memory& memory, const PythonLayout& layout, uint64_t cframe) {
    return PythonChain(cframe, memory, layout);
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
    uint64_t instruction = 0;
    if (++count_ > kMaxPythonFrames || !read(frame_ + layout_.frame_code, frame.code) ||
        !read(frame_ + layout_.frame_instruction, instruction)) {
      return fail();
    }
    frame.at = frame_;
    frame.code &= ~kPointerTag;
    frame.unit = unit_of(frame.code, instruction);
    const uint64_t current = frame_;
    return read(current + layout_.frame_previous, frame_) && (has_shims() || end_group(current));
  }

 private:
  PythonChain(uint64_t cframe, Memory& memory, const PythonLayout& layout)
      : memory_(memory), layout_(layout), cframe_(cframe) {
    begin();
  }

  void begin() {
    if (read(cframe_ + layout_.cframe_frame, frame_)) find_group();
  }

  static constexpr uint8_t kOwnedByGenerator = 1;

  bool has_shims() const { return layout_.groups == PythonGroups::kShimFrames; }

  uint32_t unit_of(uint64_t code, uint64_t instruction) const {
    const uint64_t first = code + layout_.code_instructions;
    return static_cast<uint32_t>((instruction + kBytesOfUnit - first) / kBytesOfUnit);
  }

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

  // Whether the eval loop began with this frame: then the next cframe has the one before. While an
  // exception is thrown into a generator that delegates (`yield from`), the generator's frame is linked
  // between the two, as one of the outer run. It says of an earlier run that this began with it.
  bool end_group(uint64_t frame) {
    uint8_t is_entry = 0, owner = 0;
    if (!memory_.read(frame + layout_.frame_is_entry, is_entry)) return fail();
    if (is_entry == 0) return true;
    uint64_t above = 0, first = 0;
    if (!read(cframe_ + layout_.cframe_previous, above) ||
        !read(above + layout_.cframe_frame, first) ||
        !memory_.read(frame + layout_.frame_owner, owner)) {
      return fail();
    }
    group_ended_ = first == frame_;
    return group_ended_ || owner == kOwnedByGenerator || fail();
  }

  // Groups follow each other up the C stack.
  void next_group() {
    const uint64_t before = mark_;
    if (has_shims()) {
      if (!read(mark_ + layout_.frame_previous, frame_)) return;
    } else if (!read(cframe_ + layout_.cframe_previous, cframe_)) {
      return;
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

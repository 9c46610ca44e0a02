// The Python frames of one thread, as CPython 3.9 and 3.10 link them: objects of the heap, leaf first,
// one for each run of the eval loop. They say nothing of the C stack. So the runs are listed
// separately, by their marks (addresses inside the eval loop's native frames), and the two lists are
// put side by side from the root.
//
//   Memory   as in python_chain.h
//   Runs     bool next(uint64_t& mark): the mark of the next run, leaf first. False at the root, or
//            when it is torn(). A copy begins where the original is.
//
// At the leaf, one run may have no frame yet or any more, or one frame no run any more: the signal came
// while the eval loop was beginning or ending. Where the lists disagree otherwise, no position is
// known, and the chain is torn.
//
// Freestanding: linked into the target; async-signal-safe.
#pragma once

#include <cstdint>

#include "unwind/python_frame.h"
#include "unwind/python_layout.h"

namespace sampan::unwind {

// The runs of CPython 3.10: the interpreter's list of cframes.
template <typename Memory>
class CframeRuns {
 public:
  CframeRuns(Memory& memory, const PythonLayout& layout, uint64_t thread)
      : memory_(&memory), thread_(thread), previous_(layout.cframe_previous) {
    torn_ = !memory.read(thread + layout.thread_cframe, cframe_);
  }

  bool torn() const { return torn_; }
  bool next(uint64_t& mark) {
    if (torn_ || cframe_ - thread_ < kThreadSize) return false;  // the latter: the cframe of no run
    uint64_t above = 0;
    if (!memory_->on_stack(cframe_) || !memory_->read(cframe_ + previous_, above)) return fail();
    if (memory_->on_stack(above) && above <= cframe_) return fail();
    mark = cframe_;
    cframe_ = above;
    return true;
  }

 private:
  // The last cframe is a member of the thread state, near its end. It links to nothing that is set.
  static constexpr uint64_t kThreadSize = 4096;

  bool fail() {
    torn_ = true;
    return false;
  }

  Memory* memory_;
  uint64_t thread_;
  uint64_t previous_;
  uint64_t cframe_ = 0;
  bool torn_ = false;
};

template <typename Memory, typename Runs>
class PythonFrameObjects {
 public:
  // `thread`: the PyThreadState. `frames_outlast_runs`: a run leaves the list before its frame does.
  PythonFrameObjects(Memory& memory, const PythonLayout& layout, uint64_t thread, Runs runs,
                     bool frames_outlast_runs)
      : memory_(memory), layout_(layout), runs_(runs) {
    unsigned groups = 0, marks = 0;
    if (!read(thread + layout.thread_frame, frame_) || !count_runs(marks) ||
        !count_groups(marks + 1, groups)) {
      return;
    }
    if (marks == groups + 1) {
      add_leaf();
    } else if (frames_outlast_runs && marks + 1 == groups) {
      mark_ = kLeaf;
      return;
    } else if (marks != groups) {
      fail();
    }
    find_mark();
  }

  bool torn() const { return torn_; }
  bool has_group() const { return mark_ != 0 && !torn_; }
  uint64_t mark() const { return mark_; }

  // As PythonChain::next().
  bool next(PythonFrame& frame) {
    if (torn_) return false;
    if (group_ended_) {
      group_ended_ = false;
      find_mark();
      return false;
    }
    int32_t index = 0;
    frame.at = frame_;
    if (!read(frame_ + layout_.frame_code, frame.code) ||
        !read(frame_ + layout_.frame_instruction, index)) {
      return false;
    }
    frame.unit =
        index < 0 ? 0 : static_cast<uint32_t>(index) * layout_.index_bytes / kBytesOfUnit + 1;
    uint64_t previous = 0;
    if (!read_link(previous, group_ended_)) return false;
    group_ended_ |= leaf_has_run_;
    leaf_has_run_ = false;
    frame_ = previous;
    return true;
  }

 private:
  static constexpr uint64_t kLeaf = 1;  // a mark below all others

  bool fail() {
    torn_ = true;
    return false;
  }
  template <typename T>
  bool read(uint64_t avma, T& value) {
    return memory_.read(avma, value) || fail();
  }

  // The frame before `frame_`, and whether a run of the eval loop is behind `frame_`. A generator that
  // delegates (`yield from`) has none while an exception is thrown into the inner one: its frame is
  // linked as if it ran. 3.10 keeps its state apart. In 3.9 it is the last of the chain, which has
  // lost those who called it.
  bool read_link(uint64_t& previous, bool& has_run) {
    uint64_t generator = 0;
    if (!read(frame_ + layout_.frame_previous, previous) ||
        !read(frame_ + layout_.frame_generator, generator)) {
      return false;
    }
    has_run = true;
    if (generator == 0) return true;
    if (layout_.frame_stack_depth == 0) {
      has_run = previous != 0;
      return true;
    }
    int32_t depth = 0;
    int8_t state = 0;
    if (!read(frame_ + layout_.frame_stack_depth, depth) ||
        !read(frame_ + layout_.frame_state, state)) {
      return false;
    }
    has_run = depth < 0 || state != 0;
    return true;
  }

  // At most `most`, for more are torn in any case.
  bool count_groups(unsigned most, unsigned& groups) {
    const uint64_t first = frame_;
    bool ended = true;
    for (unsigned frames = 0; frame_ != 0; ++frames) {
      uint64_t previous = 0;
      if (frames == kMaxPythonFrames || !read_link(previous, ended)) return fail();
      groups += ended;
      if (groups > most) return fail();
      delegates_ |= !ended;
      leaf_delegates_ |= !ended && frames == 0;
      frame_ = previous;
    }
    frame_ = first;
    return ended || fail();
  }
  bool count_runs(unsigned& marks) {
    Runs runs = runs_;
    uint64_t mark = 0;
    while (runs.next(mark)) {
      if (++marks > kMaxPythonFrames) return fail();
    }
    return !runs.torn() || fail();
  }

  // One run more than groups. A generator looks as if it delegated until its run has taken its stack:
  // then the run is that of the frame at the leaf.
  void add_leaf() {
    leaf_has_run_ = leaf_delegates_;
    uint64_t leaf = 0;
    if (leaf_delegates_) return;
    runs_.next(leaf);
    // Also a run in the middle could be the one, of a generator whose start is being traced.
    if (delegates_) fail();
  }

  void find_mark() {
    if (frame_ == 0 || !runs_.next(mark_)) mark_ = 0;
  }

  Memory& memory_;
  const PythonLayout& layout_;
  Runs runs_;
  uint64_t frame_ = 0;  // the next one
  uint64_t mark_ = 0;   // 0: no group
  bool group_ended_ = false;
  bool delegates_ = false;  // some frame has no run
  bool leaf_delegates_ = false;
  bool leaf_has_run_ = false;
  bool torn_ = false;
};

}  // namespace sampan::unwind

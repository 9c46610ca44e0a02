// Puts the frames of a thread's interpreter into its native stack: where the eval loop's own frame is,
// the Python functions that it runs come before it (leaf first).
//
//   Memory   as in python_chain.h
//   Codes    CodeKind find(const PythonFrame& frame, uint32_t& number): the number of its code object
//            void end_group(uint64_t first, uint64_t last, uint64_t cfa): the functions of one run of the
//            eval loop have been added; their frames, and the CFA of the loop's own
//            void clear(): the merge begins again
//
// Freestanding: linked into the target; async-signal-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "unwind/joined_stack.h"
#include "unwind/python_chain.h"
#include "unwind/python_frame_objects.h"
#include "wire/record.h"

namespace sampan::unwind {

// The code of the eval loop; nothing where it is not known (and where the layout does not need it).
struct EvalLoop {
  uint64_t start, end;  // AVMAs

  bool contains(uint64_t avma) const { return avma - start < end - start; }
};

// The native stack, leaf first. Frame i lies between cfas[i - 1] and cfas[i]. One of them may be
// wire::kFramesLeftOut: then the functions that these frames ran are left out with them.
struct NativeStack {
  std::span<const uint64_t> frames;
  const uint64_t* cfas;
  bool has_root;
};

enum class CodeKind : uint8_t {
  kFunction,
  kHandleRun,   // the same: asyncio's Handle._run(), that runs a callback of the event loop
  kLoopRound,   // the same: BaseEventLoop._run_once(), that runs handles
  kPythonStep,  // the same: a step of a task that is written in Python
  kInternal,    // a frame of the interpreter's own, which no program has written
  kUnreadable,  // no code object
};

// The runs of the eval loop by its frames in the native stack, where nothing else marks them (3.9).
class EvalLoopRuns {
 public:
  EvalLoopRuns(const NativeStack& native, const EvalLoop& eval_loop)
      : native_(&native), eval_loop_(&eval_loop) {}

  bool torn() const { return false; }
  bool next(uint64_t& mark) {
    while (i_ < native_->frames.size()) {
      const size_t i = i_++;
      if (!eval_loop_->contains(native_->frames[i])) continue;
      mark = native_->cfas[i] - 1;
      return true;
    }
    return false;
  }

 private:
  const NativeStack* native_;
  const EvalLoop* eval_loop_;
  size_t i_ = 0;
};

template <typename Memory, typename Codes>
class PythonMerge {
 public:
  // `frames`: the room for the result.
  PythonMerge(Memory& memory, const PythonLayout& layout, const EvalLoop& eval_loop,
              const NativeStack& native, Codes& codes, std::span<uint64_t> frames)
      : memory_(memory),
        layout_(layout),
        eval_loop_(eval_loop),
        native_(native),
        codes_(codes),
        frames_(frames),
        joined_(frames.size()) {}

  // `threads`: the thread's PyThreadStates, innermost first: several while it runs subinterpreters. False: an
  // interpreter's chain of frames is torn, or does not fit the native stack. May be called again.
  bool run(std::span<const uint64_t> threads) {
    const bool is_whole = merge_states(threads);
    depth_ = joined_.join(count_, frames_);
    return is_whole;
  }

  uint32_t depth() const { return depth_; }
  bool run(uint64_t thread) { return run(std::span(&thread, 1)); }

  // The native frame that ran the outermost functions.
  size_t last_run() const { return last_run_; }
  // Whether a native frame of the eval loop ran none of the functions. The leaf may be one at any time, at the
  // beginning or at the end of a run.
  bool has_run_of_others() const { return has_run_of_others_; }

 private:
  // How far the eval loop may be into its code while its cframe is linked and not written yet.
  static constexpr uint64_t kBeginning = 256;  // bytes

  bool merge_states(std::span<const uint64_t> threads) {
    begin_again();
    size_t native = 0;
    for (const uint64_t& thread : threads) {
      if (merge_state(thread, native, &thread == &threads.back())) continue;
      if (threads.size() > 1) return false;
      begin_again();
      return merge_around_beginning(thread);
    }
    return true;
  }

  void begin_again() {
    count_ = 0;
    last_run_ = 0;
    has_run_of_others_ = false;
    codes_.clear();
  }

  // Both parts of a stack are recorded where there are more than there is room for.
  void add(uint64_t frame) { frames_[joined_.place(count_++)] = frame; }

  // The frames of the run whose native frame ends at `cfa`. False: the chain is torn.
  template <typename Chain>
  bool merge_group(Chain& chain, uint64_t cfa) {
    PythonFrame frame{};
    uint64_t first = 0, last = 0;
    while (chain.next(frame)) {
      uint32_t number = 0;
      const CodeKind kind = codes_.find(frame, number);
      if (kind == CodeKind::kUnreadable) return false;
      if (kind == CodeKind::kInternal) continue;
      add(wire::python_frame(number, frame.unit));
      if (first == 0) first = frame.at;
      last = frame.at;
    }
    if (last != 0) codes_.end_group(first, last, cfa);
    return !chain.torn();
  }

  // The groups of native frames that were left out, up to `cfa`. False: the chain is torn.
  template <typename Chain>
  static bool skip_groups(Chain& chain, uint64_t cfa) {
    while (chain.has_group() && chain.mark() < cfa) {
      PythonFrame frame{};
      while (chain.next(frame)) {
      }
    }
    return !chain.torn();
  }

  // Native frames from `i` on: those of the last chain, to the end; else up to where the chain ends.
  template <typename Chain>
  bool merge_chain(Chain&& chain, size_t& i, bool is_last) {
    if (chain.torn() || (i > 0 && chain.has_group() && chain.mark() < native_.cfas[i - 1])) {
      return false;
    }
    for (; i < native_.frames.size(); ++i) {
      if (!is_last && !chain.has_group()) return true;
      if (native_.frames[i] == wire::kFramesLeftOut) {
        if (!skip_groups(chain, native_.cfas[i])) return false;
        add(wire::kFramesLeftOut);
        continue;
      }
      // A mark is in the frame of the eval loop that made it. Below the leaf's stack pointer is the
      // leaf's, too. A signal handler's frames may be on another stack, which has no marks.
      const bool has_marks = memory_.on_stack(native_.cfas[i] - 1);
      if (has_marks && chain.has_group() && chain.mark() < native_.cfas[i]) {
        if (!merge_group(chain, native_.cfas[i])) return false;
        last_run_ = i;
      } else if (i > 0 && eval_loop_.contains(native_.frames[i])) {
        has_run_of_others_ = true;
      }
      add(native_.frames[i]);
    }
    return !native_.has_root || (!chain.has_group() && is_last);
  }

  bool merge_state(uint64_t thread, size_t& native, bool is_last) {
    if (layout_.groups != PythonGroups::kFrameObjects) {
      return merge_chain(PythonChain<Memory>(memory_, layout_, thread), native, is_last);
    }
    if (layout_.thread_cframe != 0) {
      const CframeRuns runs(memory_, layout_, thread);
      return merge_chain(PythonFrameObjects(memory_, layout_, thread, runs, true), native, is_last);
    }
    // Runs can be counted only where the whole stack is known, and only those of one state.
    const EvalLoopRuns runs(native_, eval_loop_);
    return native_.has_root &&
           std::ranges::find(native_.frames, wire::kFramesLeftOut) == native_.frames.end() &&
           merge_chain(PythonFrameObjects(memory_, layout_, thread, runs, false), native, is_last);
  }

  // A generator that is being left: still the current frame, but linked to none any more.
  bool leaves_generator(uint64_t cframe) {
    constexpr uint8_t kOwnedByGenerator = 1;
    uint64_t frame = 0, previous = 0;
    uint8_t owner = 0;
    return memory_.read(cframe + layout_.cframe_frame, frame) &&
           memory_.read(frame + layout_.frame_previous, previous) && previous == 0 &&
           memory_.read(frame + layout_.frame_owner, owner) && owner == kOwnedByGenerator;
  }

  // A run of the eval loop that has linked its cframe, the innermost, and not written it yet, has no
  // frame yet, and the cframe of the run around it is behind it, unknown. But in all frames of the
  // eval loop the cframe is at the same distance from the CFA. False where the chain is torn
  // otherwise.
  bool merge_around_beginning(uint64_t thread) {
    uint64_t cframe = 0;
    if (layout_.groups == PythonGroups::kFrameObjects || layout_.thread_cframe == 0 ||
        !memory_.read(thread + layout_.thread_cframe, cframe) || !native_.has_root ||
        native_.frames.empty() || native_.frames[0] - eval_loop_.start >= kBeginning ||
        !memory_.on_stack(cframe) || cframe >= native_.cfas[0] || leaves_generator(cframe)) {
      return false;
    }
    const uint64_t distance = native_.cfas[0] - cframe;
    for (size_t i = 1; i < native_.frames.size(); ++i) {
      if (!eval_loop_.contains(native_.frames[i])) continue;
      size_t first = 0;
      return merge_chain(
          PythonChain<Memory>::from_cframe(memory_, layout_, native_.cfas[i] - distance), first,
          true);
    }
    return false;
  }

  Memory& memory_;
  const PythonLayout& layout_;
  const EvalLoop& eval_loop_;
  const NativeStack& native_;
  Codes& codes_;
  std::span<uint64_t> frames_;
  const JoinedStack joined_;
  uint32_t count_ = 0;  // of the frames that were added
  uint32_t depth_ = 0;  // of those that are there
  size_t last_run_ = 0;
  bool has_run_of_others_ = false;
};

}  // namespace sampan::unwind

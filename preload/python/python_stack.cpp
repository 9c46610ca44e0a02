#include "preload/python/python_stack.h"

#include <cstring>

#include "preload/python/code_table.h"
#include "preload/python/interpreter.h"
#include "unwind/python_chain.h"
#include "unwind/python_frame_objects.h"
#include "wire/loss.h"
#include "wire/record.h"

namespace sampan::preload {
namespace {

// Probed pages are forgotten after so many samples.
constexpr uint32_t kSamplesOfPages = 64;

constexpr uint64_t kChunkSize = 8;  // _PyStackChunk::size, bytes

// The frames of the newest chunk are read without a probe.
void trust_chunk(PythonMemory& memory, const unwind::PythonLayout& layout, uint64_t thread) {
  uint64_t chunk = 0, size = 0;
  if (memory.read(thread + layout.thread_datastack, chunk) &&
      memory.read(chunk + kChunkSize, size) && size < UINT32_MAX) {
    memory.trust(chunk, chunk + size);
  }
}

class Merge {
 public:
  Merge(PythonMemory& memory, const unwind::PythonLayout& layout, wire::RingWriter& ring,
        std::span<uint64_t> frames)
      : memory_(memory), layout_(layout), ring_(ring), frames_(frames) {}

  // False: the chain is torn.
  template <typename Chain>
  bool group(Chain& chain) {
    unwind::PythonFrame frame{};
    while (chain.next(frame)) {
      if (is_full_) continue;
      uint32_t number = 0;
      switch (find_code(memory_, layout_, frame.code, ring_, number)) {
        case CodeKind::kUnreadable: return false;
        case CodeKind::kInternal: continue;
        case CodeKind::kFunction: break;
      }
      add(wire::python_frame(number, frame.unit));
    }
    return !chain.torn();
  }
  void add(uint64_t frame) {
    if (depth_ < frames_.size()) {
      frames_[depth_++] = frame;
    } else {
      is_full_ = true;
    }
  }

  void clear() {
    depth_ = 0;
    is_full_ = false;
  }

  uint32_t depth() const { return depth_; }
  bool is_full() const { return is_full_; }

 private:
  PythonMemory& memory_;
  const unwind::PythonLayout& layout_;
  wire::RingWriter& ring_;
  std::span<uint64_t> frames_;
  uint32_t depth_ = 0;
  bool is_full_ = false;
};

// The runs of the eval loop by its frames in the native stack, where nothing else marks them (3.9).
class EvalLoopRuns {
 public:
  EvalLoopRuns(std::span<const uint64_t> native, const uint64_t* cfas)
      : native_(native), cfas_(cfas) {}

  bool torn() const { return false; }
  bool next(uint64_t& mark) {
    const EvalLoop& eval_loop = interpreter_eval_loop();
    while (i_ < native_.size()) {
      const size_t i = i_++;
      if (!eval_loop.contains(native_[i])) continue;
      mark = cfas_[i] - 1;
      return true;
    }
    return false;
  }

 private:
  std::span<const uint64_t> native_;
  const uint64_t* cfas_;
  size_t i_ = 0;
};

// The thread, and its native stack.
struct Walked {
  PythonMemory& memory;
  std::span<const uint64_t> native;
  const uint64_t* cfas;
  bool has_root;
};

// False: the chain is torn, or does not fit the native stack.
template <typename Chain>
bool merge_chain(const Walked& walked, Chain&& chain, Merge& merge) {
  if (chain.torn()) return false;
  for (size_t i = 0; i < walked.native.size(); ++i) {
    // A mark is in the frame of the eval loop that made it. Below the leaf's stack pointer is the
    // leaf's, too. A signal handler's frames may be on another stack, which has no marks.
    const bool has_marks = walked.memory.on_stack(walked.cfas[i] - 1);
    if (has_marks && chain.has_group() && chain.mark() < walked.cfas[i] && !merge.group(chain)) {
      return false;
    }
    merge.add(walked.native[i]);
  }
  return !walked.has_root || !chain.has_group();
}

// How far the eval loop may be into its code while its cframe is linked and not written yet.
constexpr uint64_t kBeginning = 256;  // bytes

// A generator that is being left: still the current frame, but linked to none any more.
bool leaves_generator(PythonMemory& memory, const unwind::PythonLayout& layout, uint64_t cframe) {
  constexpr uint8_t kOwnedByGenerator = 1;
  uint64_t frame = 0, previous = 0;
  uint8_t owner = 0;
  return memory.read(cframe + layout.cframe_frame, frame) &&
         memory.read(frame + layout.frame_previous, previous) && previous == 0 &&
         memory.read(frame + layout.frame_owner, owner) && owner == kOwnedByGenerator;
}

// A run of the eval loop that has linked its cframe, the innermost, and not written it yet, has no
// frame yet, and the cframe of the run around it is behind it, unknown. But in all frames of the eval
// loop the cframe is at the same distance from the CFA. False where the chain is torn otherwise.
bool merge_around_beginning(const unwind::PythonLayout& layout, uint64_t cframe,
                            const Walked& walked, Merge& merge) {
  const EvalLoop& eval_loop = interpreter_eval_loop();
  if (!walked.has_root || walked.native.empty() ||
      walked.native[0] - eval_loop.start >= kBeginning || !walked.memory.on_stack(cframe) ||
      cframe >= walked.cfas[0] || leaves_generator(walked.memory, layout, cframe)) {
    return false;
  }
  const uint64_t distance = walked.cfas[0] - cframe;
  for (size_t i = 1; i < walked.native.size(); ++i) {
    if (!eval_loop.contains(walked.native[i])) continue;
    return merge_chain(walked,
                       unwind::PythonChain<PythonMemory>::from_cframe(walked.memory, layout,
                                                                      walked.cfas[i] - distance),
                       merge);
  }
  return false;
}

bool merge_frame_objects(const unwind::PythonLayout& layout, uint64_t thread, const Walked& walked,
                         Merge& merge) {
  using unwind::CframeRuns;
  using unwind::PythonFrameObjects;
  PythonMemory& memory = walked.memory;
  if (layout.thread_cframe != 0) {
    const CframeRuns runs(memory, layout, thread);
    return merge_chain(walked, PythonFrameObjects(memory, layout, thread, runs, true), merge);
  }
  // Runs can be counted only where the whole stack is known.
  const EvalLoopRuns runs(walked.native, walked.cfas);
  return walked.has_root &&
         merge_chain(walked, PythonFrameObjects(memory, layout, thread, runs, false), merge);
}

}  // namespace

unwind::WalkResult merge_python(PythonState& state, const unwind::WalkResult& result,
                                const unwind::StackBounds& stack, uint64_t thread,
                                wire::RingWriter& ring, std::span<uint64_t> frames) {
  const unwind::PythonLayout& layout = *interpreter_layout();
  PythonMemory memory(stack, *state.pages);
  const Walked walked{memory, state.native.first(result.depth), state.cfas.data(),
                      result.stop == wire::StopReason::kRoot};
  const bool has_cframes =
      layout.groups != unwind::PythonGroups::kFrameObjects && layout.thread_cframe != 0;
  uint64_t cframe = 0;
  const bool may_be_unwritten =
      has_cframes && (!memory.read(thread + layout.thread_cframe, cframe) ||
                      (result.depth > 0 && cframe < state.cfas[0]));
  if (++state.samples % kSamplesOfPages == 0 || may_be_unwritten) {
    // The latter: the eval loop is the leaf. It may have linked its cframe and not written it yet, so
    // the cframe's pointers may be any that were there before.
    state.pages->clear();
  }
  Merge merge(memory, layout, ring, frames);
  bool whole = false;
  if (layout.groups == unwind::PythonGroups::kFrameObjects) {
    whole = merge_frame_objects(layout, thread, walked, merge);
  } else {
    trust_chunk(memory, layout, thread);
    whole = merge_chain(walked, unwind::PythonChain(memory, layout, thread), merge);
    if (!whole && has_cframes) {
      merge.clear();
      whole = merge_around_beginning(layout, cframe, walked, merge);
    }
  }
  if (whole) {
    return {merge.depth(), merge.is_full() ? wire::StopReason::kDepthLimit : result.stop};
  }
  std::memcpy(frames.data(), walked.native.data(), walked.native.size_bytes());
  return {result.depth, walked.has_root ? wire::StopReason::kPythonTorn : result.stop};
}

}  // namespace sampan::preload

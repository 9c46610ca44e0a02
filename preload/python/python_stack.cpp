#include "preload/python/python_stack.h"

#include <cstring>
#include <type_traits>
#include <utility>

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
// It is 16 KB unless one frame needs more.
constexpr uint64_t kMostOfChunk = 1 << 16;

// The frames of the newest chunk are read without a probe of each page, once all of them were probed.
// A thread that outlives its interpreter has a state that is freed, in which anything may stand.
void trust_chunk(PythonState& state, PythonMemory& memory, const unwind::PythonLayout& layout,
                 uint64_t thread) {
  uint64_t chunk = 0, size = 0;
  if (!memory.read(thread + layout.thread_datastack, chunk) ||
      !memory.read(chunk + kChunkSize, size) || size > kMostOfChunk) {
    return;
  }
  const uint64_t end = chunk + size;
  if ((chunk != state.chunk_low || end != state.chunk_high) && !memory.readable(chunk, size)) {
    return;
  }
  state.chunk_low = chunk;
  state.chunk_high = end;
  memory.trust(chunk, end);
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

// False: the chain is torn, or does not fit the native stack. `around`: the chain that goes on where the
// first one ends, if there is one.
template <typename Chain>
bool merge_chain(const Walked& walked, Chain&& chain, Merge& merge,
                 std::remove_reference_t<Chain>* around = nullptr) {
  auto* current = &chain;
  if (current->torn()) return false;
  for (size_t i = 0; i < walked.native.size(); ++i) {
    if (around != nullptr && !current->has_group()) {
      current = std::exchange(around, nullptr);
      if (current->torn() ||
          (i > 0 && current->has_group() && current->mark() < walked.cfas[i - 1])) {
        return false;
      }
    }
    // A mark is in the frame of the eval loop that made it. Below the leaf's stack pointer is the
    // leaf's, too. A signal handler's frames may be on another stack, which has no marks.
    const bool has_marks = walked.memory.on_stack(walked.cfas[i] - 1);
    if (has_marks && current->has_group() && current->mark() < walked.cfas[i] &&
        !merge.group(*current)) {
      return false;
    }
    merge.add(walked.native[i]);
  }
  return !walked.has_root || (!current->has_group() && around == nullptr);
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
  using Chain = unwind::PythonChain<PythonMemory>;
  const EvalLoop& eval_loop = interpreter_eval_loop();
  if (!walked.has_root || walked.native.empty() ||
      walked.native[0] - eval_loop.start >= kBeginning || !walked.memory.on_stack(cframe) ||
      cframe >= walked.cfas[0] || leaves_generator(walked.memory, layout, cframe)) {
    return false;
  }
  const uint64_t distance = walked.cfas[0] - cframe;
  for (size_t i = 1; i < walked.native.size(); ++i) {
    if (!eval_loop.contains(walked.native[i])) continue;
    return merge_chain(walked, Chain::from_cframe(walked.memory, layout, walked.cfas[i] - distance),
                       merge);
  }
  return false;
}

bool merge_frame_objects(const unwind::PythonLayout& layout, uint64_t thread, uint64_t outer_thread,
                         const Walked& walked, Merge& merge) {
  using unwind::CframeRuns;
  using unwind::PythonFrameObjects;
  PythonMemory& memory = walked.memory;
  if (layout.thread_cframe != 0) {
    const auto chain_of = [&](uint64_t of) {
      return PythonFrameObjects(memory, layout, of, CframeRuns(memory, layout, of), true);
    };
    if (outer_thread == 0) return merge_chain(walked, chain_of(thread), merge);
    auto around = chain_of(outer_thread);
    return merge_chain(walked, chain_of(thread), merge, &around);
  }
  // Runs can be counted only where the whole stack is known.
  const EvalLoopRuns runs(walked.native, walked.cfas);
  return walked.has_root &&
         merge_chain(walked, PythonFrameObjects(memory, layout, thread, runs, false), merge);
}

// Until 3.11, a thread that runs a subinterpreter has a state of its own for that, and what
// PyGILState_GetThisThreadState tells is still the first one: `thread`. The current one is known while
// the thread has the GIL.
uint64_t innermost_state(PythonMemory& memory, const unwind::PythonLayout& layout,
                         uint64_t thread) {
  uint64_t current = 0, id = 0, current_id = 0;
  const bool is_other = layout.runtime_thread != 0 && interpreter_runtime() != 0 &&
                        memory.read(interpreter_runtime() + layout.runtime_thread, current) &&
                        current != 0 && current != thread;
  return is_other && memory.read(thread + layout.thread_id, id) &&
                 memory.read(current + layout.thread_id, current_id) && current_id == id
             ? current
             : thread;
}

}  // namespace

unwind::WalkResult merge_python(PythonState& state, const unwind::WalkResult& result,
                                const unwind::StackBounds& stack, uint64_t first_thread,
                                wire::RingWriter& ring, std::span<uint64_t> frames) {
  const unwind::PythonLayout& layout = *interpreter_layout();
  PythonMemory memory(stack, *state.pages);
  const Walked walked{memory, state.native.first(result.depth), state.cfas.data(),
                      result.stop == wire::StopReason::kRoot};
  const uint64_t thread = innermost_state(memory, layout, first_thread);
  const uint64_t outer_thread = thread != first_thread ? first_thread : 0;
  const bool has_cframes =
      layout.groups != unwind::PythonGroups::kFrameObjects && layout.thread_cframe != 0;
  uint64_t cframe = 0;
  const bool may_be_unwritten =
      has_cframes && (!memory.read(thread + layout.thread_cframe, cframe) ||
                      (result.depth > 0 && cframe < state.cfas[0]));
  if (++state.samples % kSamplesOfPages == 0) state.chunk_low = state.chunk_high = 0;
  if (state.samples % kSamplesOfPages == 0 || may_be_unwritten) {
    // The latter: the eval loop is the leaf. It may have linked its cframe and not written it yet, so
    // the cframe's pointers may be any that were there before.
    state.pages->clear();
  }
  Merge merge(memory, layout, ring, frames);
  bool whole = false;
  if (layout.groups == unwind::PythonGroups::kFrameObjects) {
    whole = merge_frame_objects(layout, thread, outer_thread, walked, merge);
  } else {
    trust_chunk(state, memory, layout, thread);
    unwind::PythonChain chain(memory, layout, thread);
    if (outer_thread != 0) {
      unwind::PythonChain around(memory, layout, outer_thread);
      whole = merge_chain(walked, chain, merge, &around);
    } else {
      whole = merge_chain(walked, chain, merge);
      if (!whole && has_cframes) {
        merge.clear();
        whole = merge_around_beginning(layout, cframe, walked, merge);
      }
    }
  }
  if (whole) {
    return {merge.depth(), merge.is_full() ? wire::StopReason::kDepthLimit : result.stop};
  }
  std::memcpy(frames.data(), walked.native.data(), walked.native.size_bytes());
  return {result.depth, walked.has_root ? wire::StopReason::kPythonTorn : result.stop};
}

}  // namespace sampan::preload

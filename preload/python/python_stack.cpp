#include "preload/python/python_stack.h"

#include <cstring>

#include "preload/python/code_table.h"
#include "preload/python/interpreter.h"
#include "unwind/python_chain.h"
#include "wire/loss.h"
#include "wire/record.h"

namespace sampan::preload {
namespace {

using Chain = unwind::PythonChain<PythonMemory>;

// Probed pages are forgotten after so many samples.
constexpr uint32_t kSamplesOfPages = 64;

constexpr uint64_t kChunkSize = 8;   // _PyStackChunk::size, bytes
constexpr uint64_t kUnitOfCode = 2;  // bytes

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
      const uint64_t first = frame.code + layout_.code_instructions;
      add(wire::python_frame(
          number, static_cast<uint32_t>((frame.instruction + kUnitOfCode - first) / kUnitOfCode)));
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

}  // namespace

unwind::WalkResult merge_python(PythonState& state, const unwind::WalkResult& walked,
                                const unwind::StackBounds& stack, uint64_t thread,
                                wire::RingWriter& ring, std::span<uint64_t> frames) {
  const unwind::PythonLayout& layout = *interpreter_layout();
  const std::span<const uint64_t> native = state.native.first(walked.depth);
  PythonMemory memory(stack, *state.pages);
  uint64_t innermost = 0;
  if (++state.samples % kSamplesOfPages == 0 ||
      !memory.read(thread + layout.thread_frame, innermost) ||
      (layout.cframe_previous != 0 && walked.depth > 0 && innermost < state.cfas[0])) {
    // The last: the eval loop is the leaf. It may have linked its cframe and not written it yet, so
    // the cframe's pointers may be any that were there before.
    state.pages->clear();
  }
  trust_chunk(memory, layout, thread);
  Chain chain(memory, layout, thread);
  Merge merge(memory, layout, ring, frames);
  bool whole = !chain.torn();
  for (size_t i = 0; i < native.size() && whole; ++i) {
    // A mark is in the frame of the eval loop that made it. Below the leaf's stack pointer is the
    // leaf's, too. A signal handler's frames may be on another stack, which has no marks.
    const bool has_marks = memory.on_stack(state.cfas[i] - 1);
    if (has_marks && chain.has_group() && chain.mark() < state.cfas[i]) whole = merge.group(chain);
    merge.add(native[i]);
  }
  whole &= walked.stop != wire::StopReason::kRoot || !chain.has_group();
  if (whole) {
    return {merge.depth(), merge.is_full() ? wire::StopReason::kDepthLimit : walked.stop};
  }
  std::memcpy(frames.data(), native.data(), native.size_bytes());
  const bool is_complete = walked.stop == wire::StopReason::kRoot;
  return {walked.depth, is_complete ? wire::StopReason::kPythonTorn : walked.stop};
}

}  // namespace sampan::preload

#include "preload/python/python_stack.h"

#include <cstring>

#include "preload/python/code_table.h"
#include "preload/python/interpreter.h"
#include "preload/python/thread_states.h"
#include "unwind/python_merge.h"
#include "wire/loss.h"

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

// Numbers code objects, announces those that are new, and collects what find_step() needs.
struct Codes {
  PythonMemory& memory;
  const unwind::PythonLayout& layout;
  wire::RingWriter& ring;
  LoopFrames loop_frames{memory, layout};

  unwind::CodeKind find(const unwind::PythonFrame& frame, uint32_t& number) {
    const unwind::CodeKind kind = find_code(memory, layout, frame.code, ring, number);
    loop_frames.add(kind, frame.at);
    return kind;
  }
  void end_group(uint64_t first, uint64_t last, uint64_t cfa) {
    loop_frames.end_group(first, last, cfa);
  }
  void clear() { loop_frames.clear(); }
};

// The eval loop is the leaf. It may have linked its cframe and not written it yet, so the cframe's
// pointers may be any that were there before.
bool may_be_unwritten(PythonMemory& memory, const unwind::PythonLayout& layout, uint64_t thread,
                      const unwind::NativeStack& native) {
  uint64_t cframe = 0;
  return layout.groups != unwind::PythonGroups::kFrameObjects && layout.thread_cframe != 0 &&
         (!memory.read(thread + layout.thread_cframe, cframe) ||
          (!native.frames.empty() && cframe < native.cfas[0]));
}

// Merges with the state `thread`, and with those around it.
template <typename Merge>
bool merge_states(Merge& merge, PythonMemory& memory, const unwind::PythonLayout& layout,
                  const unwind::NativeStack& native, uint64_t thread, uint64_t first_thread,
                  OuterState (&outer)[kMostStates]) {
  uint64_t states[kMostStates] = {thread, first_thread};
  size_t count = thread != first_thread ? 2 : 1;
  bool is_whole = merge.run(std::span(states, count));
  if (!has_subinterpreters(memory)) return is_whole;
  while (is_whole && count < kMostStates && layout.groups != unwind::PythonGroups::kFrameObjects) {
    const uint64_t next = outer_state(memory, layout, states[count - 1],
                                      native.cfas[merge.last_run()], outer[count - 1]);
    if (next == 0) break;
    states[count++] = next;
    is_whole = merge.run(std::span(states, count));
  }
  return is_whole && !merge.has_run_of_others();
}

}  // namespace

unwind::WalkResult merge_python(PythonState& state, const unwind::WalkResult& result,
                                const unwind::StackBounds& stack, uint64_t first_thread,
                                wire::RingWriter& ring, std::span<uint64_t> frames) {
  const unwind::PythonLayout& layout = *interpreter_layout();
  PythonMemory memory(stack, *state.pages);
  const unwind::NativeStack native{state.native.first(result.depth), state.cfas.data(),
                                   result.stop == wire::StopReason::kRoot};
  const uint64_t thread = innermost_state(memory, layout, first_thread);
  const bool is_due = ++state.samples % kSamplesOfPages == 0;
  if (is_due) state.chunk_low = state.chunk_high = 0;
  if (is_due || may_be_unwritten(memory, layout, thread, native)) state.pages->clear();
  if (layout.thread_datastack != 0) trust_chunk(state, memory, layout, thread);
  Codes codes{memory, layout, ring};
  unwind::PythonMerge merge(memory, layout, interpreter_eval_loop(), native, codes, frames);
  if (merge_states(merge, memory, layout, native, thread, first_thread, state.outer)) {
    codes.loop_frames.take_running_task(thread);
    find_step(memory, layout, codes.loop_frames, ring, state.step);
    return {merge.depth(), result.stop};
  }
  std::memcpy(frames.data(), native.frames.data(), native.frames.size_bytes());
  return {result.depth, native.has_root ? wire::StopReason::kPythonTorn : result.stop};
}

}  // namespace sampan::preload

// The frames of a thread's interpreter, put into its native stack: where the eval loop's own frame
// is, the Python functions that it runs come before it (leaf first).
//
// Freestanding: linked into the target; async-signal-safe.
#pragma once

#include <cstdint>
#include <span>

#include "preload/python/loop_step.h"
#include "preload/python/python_memory.h"
#include "preload/python/thread_states.h"
#include "unwind/walker.h"
#include "wire/ring.h"

namespace sampan::preload {

// The state that merging keeps for one thread. All zeroes are valid, except for the buffers.
struct PythonState {
  std::span<uint64_t> native;  // the native stack, before it is merged
  std::span<uint64_t> cfas;    // of its frames: frame i lies between cfas[i - 1] and cfas[i]
  ReadablePages* pages;
  uint32_t samples;
  uint64_t chunk_low, chunk_high;  // the newest chunk of frames that was found to be readable
  LoopStep step;                   // of the stack that was merged last
  OuterState outer[kMostStates];
};

// Merges the stack that was walked into `state` with the Python frames of `thread`, a PyThreadState.
// Returns what is in `frames`. Where the interpreter's chain of frames is not whole, or the functions of
// another interpreter that the thread runs are not known, that is the native stack alone
// (StopReason::kPythonTorn).
unwind::WalkResult merge_python(PythonState& state, const unwind::WalkResult& result,
                                const unwind::StackBounds& stack, uint64_t thread,
                                wire::RingWriter& ring, std::span<uint64_t> frames);

}  // namespace sampan::preload

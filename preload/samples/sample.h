// A thread's samples: walking its stack, and the record in its ring (kSample of wire/record.h). All
// records with a stack hold what differs from the thread's previous one.
//
// Async-signal-safe. Freestanding: linked into the target.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "preload/python/interpreter.h"
#include "preload/python/python_stack.h"
#include "preload/tracing/thread_context.h"
#include "unwind/walker.h"
#include "wire/loss.h"
#include "wire/record.h"
#include "wire/ring.h"

namespace sampan::preload {

// What sampling knows of one thread.
struct SampleState {
  uint32_t slot;
  std::atomic<bool> walking;            // the walk may be reading a module: see modules/loading.cpp
  std::atomic<uint64_t> last_cpu_ns;    // at the last sample, or at the last tick without one
  uint64_t left_out_ns;                 // CPU used since the last sample while sampling was off
  std::atomic<uint32_t> open_sections;  // of this thread alone
  unwind::StackBounds stack;
  wire::RingWriter ring;
  std::span<uint64_t> frames;    // the stack that is being walked
  std::span<uint64_t> previous;  // the stack that was recorded last: previous_depth frames
  unwind::LastWalk* last_walk;   // of its native frames
  PythonState python;
  TraceState trace;
  uint32_t previous_depth;
  uint32_t samples_since_full;
};

struct Sample {
  uint64_t time_ns;
  uint64_t cpu_ns;
  uint32_t depth;  // of SampleState::frames
  uint16_t ticks;
  wire::StopReason stop;
  uint8_t flags;  // with kSampleInStep: SampleState::python has the step
};

extern unwind::Walker walker;

// For a thread that is about to get the slot; it has the frame buffers already. `shared`: the memory
// shared with the collector.
void prepare_samples(SampleState& state, uint32_t slot, void* shared);

// Walks the stack of the calling thread into `frames`, with the frames of its interpreter, and reads for
// which request it works.
inline unwind::WalkResult walk_stack(SampleState& state, const unwind::Registers& registers) {
  // Sequentially consistent: either the thread that unloads a module sees this, or the walker sees
  // that a module is being unloaded.
  state.walking.store(true);
  state.python.step.kind = wire::StepKind::kNone;
  read_context(state.trace, state.stack, walker.unloading());
  const bool may_ask =
      interpreter_layout() != nullptr && state.stack.may_probe && !walker.unloading();
  const uint64_t thread = may_ask ? interpreter_thread() : 0;
  unwind::WalkResult walked{};
  if (thread == 0) {
    walked = walker.walk(registers, state.stack, state.frames, state.last_walk);
  } else {
    walked = walker.walk(registers, state.stack, state.python.native, state.last_walk,
                         state.python.cfas.data());
    walked = merge_python(state.python, walked, state.stack, thread, state.ring, state.frames);
  }
  state.walking.store(false, std::memory_order_release);
  return walked;
}

void record_sample(SampleState& state, const Sample& sample);

// Writes a record that ends with a stack: `fields`, then the first `depth` of `frames`. `reserve` bytes of
// the ring are left free. False when the record does not fit (not counted): the next one will have a full stack.
bool write_with_stack(SampleState& state, wire::RecordType type, std::span<const uint8_t> fields,
                      uint32_t depth, size_t reserve);

}  // namespace sampan::preload

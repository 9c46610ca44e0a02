#include "preload/samples/sample.h"

#include <bit>
#include <utility>

#include "base/byte_writer.h"
#include "wire/control_block.h"
#include "wire/record.h"

namespace sampan::preload {

constinit unwind::Walker walker;

namespace {

// Kept free for the records of a thread's start and end, which matter more than one sample.
constexpr size_t kReserve = 256;
// The fields of a sample in front of its stack.
constexpr size_t kMostFields = sizeof(wire::TraceContext) + 8 + 8 + 2 + 1 + 1 + 8 + 1 + 1 + 8;

size_t uleb_size(uint64_t value) {
  return (static_cast<size_t>(std::bit_width(value | 1)) + 6) / 7;
}
size_t zigzag_size(int64_t value) {
  return uleb_size((static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63));
}

// How many frames the two stacks have in common, counted from the root.
uint32_t shared_frames(std::span<const uint64_t> now, std::span<const uint64_t> before) {
  uint32_t shared = 0;
  while (shared < now.size() && shared < before.size() &&
         now[now.size() - 1 - shared] == before[before.size() - 1 - shared]) {
    ++shared;
  }
  return shared;
}

// A collector that has lost records learns the context again after a while.
uint8_t trace_flags(const TraceState& trace) {
  if (!trace.current.is_set()) return 0;
  const bool is_new =
      trace.current != trace.recorded || trace.since_new >= wire::kFullStackInterval;
  return wire::kSampleInTrace | (is_new ? wire::kSampleNewTrace : uint8_t{0});
}

void note_trace(TraceState& trace, uint8_t flags) {
  ++trace.since_new;
  if ((flags & wire::kSampleNewTrace) == 0) return;
  trace.recorded = trace.current;
  trace.since_new = 0;
}

template <typename F>
void for_each_delta(std::span<const uint64_t> frames, F&& each) {
  uint64_t last = 0;
  for (const uint64_t frame : frames) {
    each(static_cast<int64_t>(frame - last));
    last = frame;
  }
}

}  // namespace

void prepare_samples(SampleState& state, uint32_t slot, void* shared) {
  state.slot = slot;
  state.walking.store(false, std::memory_order_relaxed);
  state.last_cpu_ns.store(0, std::memory_order_relaxed);
  state.left_out_ns = 0;
  state.open_sections.store(0, std::memory_order_relaxed);
  state.stack = {0, 0, true};
  state.ring = {&wire::thread_slot(shared, slot)->ring, wire::thread_ring_buffer(shared, slot)};
  state.previous_depth = 0;
  state.samples_since_full = 0;
  state.python.step = {};
  prepare_trace(state.trace, wire::thread_slot(shared, slot)->context);
}

bool write_with_stack(SampleState& state, wire::RecordType type, std::span<const uint8_t> fields,
                      uint32_t depth, size_t reserve) {
  const std::span<const uint64_t> stack = state.frames.first(depth);
  uint32_t shared = 0;
  if (++state.samples_since_full < wire::kFullStackInterval) {
    shared = shared_frames(stack, state.previous.first(state.previous_depth));
  }
  const std::span<const uint64_t> fresh = stack.first(stack.size() - shared);
  size_t size = fields.size() + uleb_size(shared) + uleb_size(fresh.size());
  for_each_delta(fresh, [&](int64_t delta) { size += zigzag_size(delta); });
  if (!state.ring.has_room(size, reserve)) {
    state.previous_depth = 0;
    return false;
  }
  ByteWriter writer(state.ring.begin(size, reserve));
  writer.bytes(fields.data(), fields.size());
  writer.uleb(shared);
  writer.uleb(fresh.size());
  for_each_delta(fresh, [&](int64_t delta) { writer.zigzag(delta); });
  state.ring.commit(static_cast<uint8_t>(type), writer.size());

  if (shared == 0) state.samples_since_full = 0;
  std::swap(state.frames, state.previous);
  state.previous_depth = depth;
  return true;
}

void record_sample(SampleState& state, const Sample& sample) {
  const uint64_t left_out_ns = state.left_out_ns;
  const uint8_t flags = sample.flags | (left_out_ns != 0 ? wire::kSampleAfterGap : uint8_t{0}) |
                        trace_flags(state.trace);
  const bool in_new_trace = (flags & wire::kSampleNewTrace) != 0;
  uint8_t fields[kMostFields];
  ByteWriter writer(fields);
  writer.fixed(sample.time_ns);
  writer.fixed(sample.cpu_ns);
  writer.fixed(sample.ticks);
  writer.fixed(sample.stop);
  writer.fixed(flags);
  if (left_out_ns != 0) writer.fixed(left_out_ns);
  if ((flags & wire::kSampleInStep) != 0) {
    const LoopStep& step = state.python.step;
    writer.fixed(step.kind);
    writer.fixed(step.task);
    writer.fixed(step.id);
  }
  if (in_new_trace) writer.bytes(&state.trace.current, sizeof state.trace.current);
  if (write_with_stack(state, wire::RecordType::kSample, writer.written(), sample.depth,
                       kReserve)) {
    state.left_out_ns = 0;
    note_trace(state.trace, flags);
  } else {
    state.ring.count_dropped();
  }
}

}  // namespace sampan::preload

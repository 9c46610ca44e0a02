#include "preload/marker_spans.h"

#include "base/clock.h"
#include "preload/marker_names.h"
#include "preload/marker_text.h"
#include "preload/process.h"
#include "wire/control_block.h"

namespace sampan::preload {
namespace {

using wire::MarkerRecord;
using wire::MarkerType;

// Ids are handed out to threads in blocks, so that threads do not share a cache line for them. The
// first block is left out: no id is 0.
constexpr uint64_t kBlock = 4096;
std::atomic<uint64_t> next_block{kBlock};

// Two instructions of one thread with no signal handler between them: a handler may come here.
uint64_t fetch_and_increment(uint64_t& value) {
  uint64_t before = 1;
  asm volatile("xadd %0, %1" : "+r"(before), "+m"(value) : : "cc", "memory");
  return before;
}

uint64_t new_id(MarkerState& markers) {
  // The block is read first. If a handler takes a new one meanwhile, the id is not in this one.
  const uint64_t first = std::atomic_ref(markers.first_id).load(std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  const uint64_t id = fetch_and_increment(markers.next_id);
  if (first != 0 && id - first < kBlock) return id;
  const uint64_t block = next_block.fetch_add(kBlock, std::memory_order_relaxed);
  std::atomic_ref(markers.next_id).store(block + 1, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  std::atomic_ref(markers.first_id).store(block, std::memory_order_relaxed);
  return block;
}

// The id of the innermost span that is open among the first `depth`. A signal handler sees the one
// that it interrupted at its beginning without an id.
uint64_t innermost(const MarkerState& markers, uint32_t depth) {
  for (uint32_t i = depth < wire::kMaxOpenSpans ? depth : wire::kMaxOpenSpans; i > 0; --i) {
    const uint64_t id = markers.open->spans[i - 1].id.load(std::memory_order_relaxed);
    if (id != 0) return id;
  }
  return 0;
}

void set_depth(MarkerState& markers, uint32_t depth) {
  markers.depth.store(depth, std::memory_order_relaxed);
  markers.open->depth.store(depth, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

void write_end(ThreadState& thread, const wire::OpenSpan& span, uint64_t id, uint64_t end_ns,
               uint16_t closed) {
  MarkerRecord record = marker_record(thread.tid, MarkerType::kSpan, span.begin_ns);
  record.flags = closed;
  record.name = span.name;
  record.value[1] = end_ns;
  record.value[2] = id;
  record.value[3] = span.parent_id;
  thread.markers.lane.write(record);
}

}  // namespace

void span_begin(const char* name, uint64_t parent_id) {
  ThreadState* thread = marker_thread();
  if (thread == nullptr) return;
  MarkerState& markers = thread->markers;
  const uint32_t depth = markers.depth.load(std::memory_order_relaxed);
  // First, so that a handler's spans come above this one.
  set_depth(markers, depth + 1);
  if (depth >= wire::kMaxOpenSpans) return count_loss(wire::Loss::kMarkerDeep);
  const MarkerText text(name);
  wire::OpenSpan& span = markers.open->spans[depth];
  const uint64_t id = new_id(markers);
  span.parent_id = parent_id != 0 ? parent_id : innermost(markers, depth);
  span.name = index_of_name(text.view(), NameUse::kOrdinary);
  if (span.name == wire::kInlineName) {
    markers.lane.write(marker_record(thread->tid, MarkerType::kSpanName, id), text.view());
  }
  span.begin_ns = monotonic_ns();
  span.id.store(id, std::memory_order_release);
}

void span_end() {
  ThreadState* thread = marker_thread();
  if (thread == nullptr) return;
  const uint64_t now = monotonic_ns();
  MarkerState& markers = thread->markers;
  const uint32_t depth = markers.depth.load(std::memory_order_relaxed);
  if (depth == 0) {
    if (markers.inherited == 0) return count_loss(wire::Loss::kMarkerUnmatched);
    --markers.inherited;
    return;
  }
  if (depth > wire::kMaxOpenSpans) return set_depth(markers, depth - 1);
  wire::OpenSpan& span = markers.open->spans[depth - 1];
  const uint64_t id = span.id.load(std::memory_order_relaxed);
  // In a handler that has interrupted the span's beginning.
  if (id == 0) return count_loss(wire::Loss::kMarkerUnmatched);
  write_end(*thread, span, id, now, 0);
  // From here on the place is free. Killed before, it is there twice, with one id.
  span.id.store(0, std::memory_order_release);
  set_depth(markers, depth - 1);
}

void span_text(const char* text) {
  ThreadState* thread = marker_thread();
  if (thread == nullptr) return;
  MarkerState& markers = thread->markers;
  const uint32_t depth = markers.depth.load(std::memory_order_relaxed);
  if (depth > wire::kMaxOpenSpans) return;  // counted with its span
  const uint64_t id = innermost(markers, depth);
  if (id == 0) return;
  markers.lane.write(marker_record(thread->tid, MarkerType::kSpanText, id), {},
                     MarkerText(text).view());
}

uint64_t span_current() {
  const ThreadState* thread = marker_thread();
  if (thread == nullptr) return 0;
  const MarkerState& markers = thread->markers;
  return innermost(markers, markers.depth.load(std::memory_order_relaxed));
}

uint64_t span_start(const char* name, uint64_t parent_id) {
  ThreadState* thread = marker_thread();
  if (thread == nullptr) return 0;
  MarkerState& markers = thread->markers;
  const MarkerText text(name);
  MarkerRecord record = marker_record(thread->tid, MarkerType::kAcrossBegin, 0);
  record.name = index_of_name(text.view(), NameUse::kOrdinary);
  const uint64_t id = new_id(markers);
  record.value[1] = id;
  record.value[2] = parent_id != 0
                        ? parent_id
                        : innermost(markers, markers.depth.load(std::memory_order_relaxed));
  record.value[0] = monotonic_ns();
  markers.lane.write(record, record.name == wire::kInlineName ? text.view() : std::string_view{});
  return id;
}

void span_stop(uint64_t id) {
  if (id == 0) return;
  ThreadState* thread = marker_thread();
  if (thread == nullptr) return;
  MarkerRecord record = marker_record(thread->tid, MarkerType::kAcrossEnd, monotonic_ns());
  record.value[1] = id;
  thread->markers.lane.write(record);
}

void close_spans(ThreadState& thread) {
  MarkerState& markers = thread.markers;
  const uint32_t depth = markers.depth.load(std::memory_order_relaxed);
  if (depth == 0) return;
  const uint64_t now = monotonic_ns();
  for (uint32_t i = depth < wire::kMaxOpenSpans ? depth : wire::kMaxOpenSpans; i > 0; --i) {
    wire::OpenSpan& span = markers.open->spans[i - 1];
    const uint64_t id = span.id.load(std::memory_order_relaxed);
    if (id != 0) write_end(thread, span, id, now, wire::kClosedByThreadEnd);
    span.id.store(0, std::memory_order_release);
  }
  set_depth(markers, 0);
}

}  // namespace sampan::preload

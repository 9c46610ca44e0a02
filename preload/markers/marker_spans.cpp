#include "preload/markers/marker_functions.h"

#include "base/clock.h"
#include "preload/markers/marker_names.h"
#include "preload/markers/marker_thread.h"
#include "preload/process/process.h"
#include "preload/support/machine.h"
#include "wire/control_block.h"

namespace sampan::preload {
namespace {

using wire::MarkerRecord;
using wire::MarkerType;

// Threads get ids in blocks, so that they do not share a cache line for them. The first block is
// unused, so that no id is 0.
constexpr uint64_t kBlock = 4096;
std::atomic<uint64_t> next_block{kBlock};

uint64_t new_id(MarkerState& markers) {
  // The block is read first. If a handler takes a new block meanwhile, the id is not in this one.
  const uint64_t first = std::atomic_ref(markers.first_id).load(std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  // A signal handler may make ids, too.
  const uint64_t id = fetch_and_increment(markers.next_id);
  if (first != 0 && id - first < kBlock) return id;
  const uint64_t block = next_block.fetch_add(kBlock, std::memory_order_relaxed);
  std::atomic_ref(markers.next_id).store(block + 1, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  std::atomic_ref(markers.first_id).store(block, std::memory_order_relaxed);
  return block;
}

// The id of the innermost open span among the first `depth`. A span whose beginning a signal handler
// has interrupted has no id yet.
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

void write_end(MarkerState& thread, const wire::OpenSpan& span, uint64_t id, uint64_t end_ns,
               uint16_t closed) {
  MarkerRecord record = marker_record(thread, MarkerType::kSpan, span.begin_ns);
  record.flags = closed;
  record.name = span.name;
  record.value[1] = end_ns;
  record.value[2] = id;
  record.value[3] = span.parent_id;
  thread.lane.write(record);
}

void write_text(MarkerState& thread, uint64_t id, const char* text) {
  thread.lane.write(marker_record(thread, MarkerType::kSpanText, id), {}, MarkerText(text).view());
}

}  // namespace

void span_begin(const char* name, uint64_t parent_id) {
  MarkerState* const thread = marker_thread();
  if (thread == nullptr) return;
  const uint32_t depth = thread->depth.load(std::memory_order_relaxed);
  // First, so that a signal handler's spans come above this one.
  set_depth(*thread, depth + 1);
  if (depth >= wire::kMaxOpenSpans) return count_loss(wire::Loss::kMarkerDeep);
  const MarkerText text(name);
  wire::OpenSpan& span = thread->open->spans[depth];
  const uint64_t id = new_id(*thread);
  span.parent_id = parent_id != 0 ? parent_id : innermost(*thread, depth);
  span.name = index_of_name(text.view(), NameUse::kOrdinary);
  if (span.name == wire::kInlineName) {
    thread->lane.write(marker_record(*thread, MarkerType::kSpanName, id), text.view());
  }
  span.begin_ns = monotonic_ns();
  span.id.store(id, std::memory_order_release);
}

void span_end() {
  MarkerState* const thread = marker_thread();
  if (thread == nullptr) return;
  const uint64_t now = monotonic_ns();
  const uint32_t depth = thread->depth.load(std::memory_order_relaxed);
  if (depth == 0) {
    if (thread->inherited == 0) return count_loss(wire::Loss::kMarkerUnmatched);
    --thread->inherited;
    return;
  }
  if (depth > wire::kMaxOpenSpans) return set_depth(*thread, depth - 1);
  wire::OpenSpan& span = thread->open->spans[depth - 1];
  const uint64_t id = span.id.load(std::memory_order_relaxed);
  // A signal handler has interrupted the span's beginning.
  if (id == 0) return count_loss(wire::Loss::kMarkerUnmatched);
  write_end(*thread, span, id, now, 0);
  // The place is free from here on. A process that is killed before leaves the span twice, with one
  // id.
  span.id.store(0, std::memory_order_release);
  set_depth(*thread, depth - 1);
}

void span_text(const char* text) {
  MarkerState* const thread = marker_thread();
  if (thread == nullptr) return;
  const uint32_t depth = thread->depth.load(std::memory_order_relaxed);
  if (depth > wire::kMaxOpenSpans) return;  // counted with its span
  const uint64_t id = innermost(*thread, depth);
  if (id != 0) write_text(*thread, id, text);
}

void span_text_of(uint64_t id, const char* text) {
  if (id == 0) return;
  MarkerState* const thread = marker_thread();
  if (thread != nullptr) write_text(*thread, id, text);
}

uint64_t span_current() {
  const MarkerState* const thread = marker_thread();
  if (thread == nullptr) return 0;
  return innermost(*thread, thread->depth.load(std::memory_order_relaxed));
}

uint64_t span_start(const char* name, uint64_t parent_id) {
  MarkerState* const thread = marker_thread();
  if (thread == nullptr) return 0;
  const MarkerText text(name);
  MarkerRecord record = marker_record(*thread, MarkerType::kAcrossBegin, 0);
  record.name = index_of_name(text.view(), NameUse::kOrdinary);
  const uint64_t id = new_id(*thread);
  record.value[1] = id;
  record.value[2] = parent_id != 0
                        ? parent_id
                        : innermost(*thread, thread->depth.load(std::memory_order_relaxed));
  record.value[0] = monotonic_ns();
  thread->lane.write(record, record.name == wire::kInlineName ? text.view() : std::string_view{});
  return id;
}

void span_stop(uint64_t id) {
  if (id == 0) return;
  MarkerState* const thread = marker_thread();
  if (thread == nullptr) return;
  MarkerRecord record = marker_record(*thread, MarkerType::kAcrossEnd, monotonic_ns());
  record.value[1] = id;
  thread->lane.write(record);
}

void close_spans(MarkerState& markers) {
  const uint32_t depth = markers.depth.load(std::memory_order_relaxed);
  if (depth == 0) return;
  const uint64_t now = monotonic_ns();
  for (uint32_t i = depth < wire::kMaxOpenSpans ? depth : wire::kMaxOpenSpans; i > 0; --i) {
    wire::OpenSpan& span = markers.open->spans[i - 1];
    const uint64_t id = span.id.load(std::memory_order_relaxed);
    if (id != 0) write_end(markers, span, id, now, wire::kClosedByThreadEnd);
    span.id.store(0, std::memory_order_release);
  }
  set_depth(markers, 0);
}

}  // namespace sampan::preload

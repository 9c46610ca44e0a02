#include "preload/tracing/thread_context.h"

#include <cstring>

#include "preload/process/process.h"
#include "preload/support/loaded_symbols.h"
#include "preload/tracing/otel_place.h"
#include "unwind/registers.h"

namespace sampan::preload {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kLowest = kPage, kHighest = unwind::kEndOfUserSpace - kPage;

// glibc's __curbrk, the end of the heap, which begins below `heap_begin`; null: not known.
void* const* heap_end;
uint64_t heap_begin;

bool in_heap(uint64_t avma, uint64_t last) {
  return heap_end != nullptr && avma >= heap_begin &&
         last < reinterpret_cast<uint64_t>(__atomic_load_n(heap_end, __ATOMIC_RELAXED));
}

bool on_same_page(uint64_t a, uint64_t b) {
  return a / kPage == b / kPage;
}

// Whether [avma, avma + size) can be read: the kernel is asked, except about the thread's stack, the heap
// of the program's break, and the page of `storage`, which is thread-local storage. The answer is not
// kept: a library may have left a pointer to what is gone.
bool readable(uint64_t avma, uint64_t size, uint64_t storage, const unwind::StackBounds& stack) {
  if (avma < kLowest || avma > kHighest - size) return false;
  const uint64_t last = avma + size - 1;
  if ((avma >= stack.low && last < stack.high) || in_heap(avma, last)) return true;
  for (const uint64_t byte : {avma, last}) {
    if (on_same_page(byte, storage) || (byte == last && on_same_page(byte, avma))) continue;
    if (!stack.may_probe || !unwind::is_mapped(byte & ~(kPage - 1))) return false;
  }
  return true;
}

template <typename T>
T load(uint64_t avma) {
  T value;
  memcpy(&value, reinterpret_cast<const void*>(avma), sizeof value);
  return value;
}

// The record that the thread's storage at a place leads to. False when there is none.
bool read_record(uint64_t pointer, uint64_t avma, const unwind::StackBounds& stack,
                 wire::OtelRecord& record) {
  if (avma % alignof(uint16_t) != 0 || !readable(avma, wire::OtelRecord::kSize, pointer, stack)) {
    count_loss(wire::Loss::kTraceUnread);
    return false;
  }
  for (size_t i = 0; i < record.ids.size(); ++i) {
    record.ids[i] = load<uint64_t>(avma + i * sizeof(uint64_t));
  }
  record.valid = load<uint8_t>(avma + wire::OtelRecord::kValidOffset);
  return record.valid == wire::OtelRecord::kValid;
}

void show(const TraceState& state) {
  if (state.shown != nullptr) state.shown->show(state.own);
}

// A signal handler of the program may come between and change the same, without showing it: then once
// more.
template <typename Change>
void change(TraceState& state, Change&& to) {
  const bool is_between = state.is_changing.load(std::memory_order_relaxed);
  uint32_t turn = 0;
  do {
    turn = ++state.changes;
    state.is_changing.store(true, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    to();
    if (state.own.is_of_same_trace(state.request)) state.own.parent_id = state.request.parent_id;
    if (is_between) return;
    show(state);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    state.is_changing.store(false, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  } while (static_cast<volatile uint32_t&>(state.changes) != turn);
}

}  // namespace

void find_heap() {
  heap_end = static_cast<void* const*>(global_symbol("__curbrk"));
  if (heap_end != nullptr) heap_begin = reinterpret_cast<uint64_t>(*heap_end);
}

void prepare_trace(TraceState& state, wire::ShownContext& shown) {
  state.shown = &shown;
  state.may_read = false;
  state.own = state.request = state.recorded = {};
  state.request_section = 0;
  state.since_new = 0;
  shown.otel_avma.store(0, std::memory_order_relaxed);
  shown.show({});
  state.is_changing.store(false, std::memory_order_relaxed);
}

void set_context(TraceState& state, const wire::TraceContext& context) {
  change(state, [&] {
    state.own = context;
    // While a request's section is open, no context of its own means that of the request.
    if (!context.is_set()) state.own = state.request;
  });
}

void begin_request(TraceState& state, const wire::TraceContext& request, uint64_t section) {
  change(state, [&] {
    state.request = request;
    state.request_section = section;
    if (!state.own.is_of_same_trace(request)) state.own = request;
  });
}

void end_request(TraceState& state, uint64_t section) {
  if (state.request_section != section || !state.request.is_set()) return;
  change(state, [&] {
    if (state.own == state.request) state.own = {};
    state.request = {};
    state.request_section = 0;
    state.own.parent_id = {};
  });
}

void read_context(TraceState& state, const unwind::StackBounds& stack, bool unloading) {
  const bool is_torn = state.is_changing.load(std::memory_order_relaxed);
  state.current = is_torn ? wire::TraceContext{} : state.own;
  if (!state.may_read) return;
  if (!has_otel_places()) return state.shown->otel_avma.store(0, std::memory_order_relaxed);
  for (const std::atomic<uint64_t>& each : otel_places) {
    const OtelPlace place{each.load(std::memory_order_relaxed)};
    if (place.is_none()) return;
    if (place.is_dynamic() && unloading) continue;
    const uint64_t pointer = place.of_this_thread();
    if (pointer == 0 || (place.is_dynamic() && !readable(pointer, sizeof(uint64_t), 0, stack))) {
      continue;
    }
    state.shown->otel_avma.store(pointer, std::memory_order_relaxed);
    const auto avma = load<uint64_t>(pointer);
    wire::OtelRecord record;
    if (avma == 0 || !read_record(pointer, avma, stack, record)) continue;
    state.current = wire::context_of(record, state.current);
    return;
  }
}

}  // namespace sampan::preload

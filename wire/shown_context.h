// How a thread says for which request it works, to the handler and to the collector.
//
// Its program says it by a marker, or an OpenTelemetry library says it in the way of OTEP 4947: a
// thread-local pointer `otel_thread_ctx_v1` to a record, or null. The library writes both only on their
// own thread.
//
// Freestanding: linked into the target.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "wire/trace_context.h"

namespace sampan::wire {

// A record of OTEP 4947: the trace id, the span id, u8 valid, u8 trace flags, u16 size of attributes,
// attributes. The handler reads its words one by one.
struct OtelRecord {
  static constexpr size_t kSize = 28;  // without the attributes, which are not read
  static constexpr size_t kValidOffset = 24;
  static constexpr uint8_t kValid = 1;  // the record is whole

  std::array<uint64_t, 3> ids;  // their bytes
  uint8_t valid;
};

// For a thread whose program has set `own` and whose library has a record: the library's ids count. The
// parent that was set holds for all spans of its trace.
inline TraceContext context_of(const OtelRecord& record, const TraceContext& own) {
  const TraceContext::Words set = own.words();
  if (record.valid != OtelRecord::kValid || (record.ids[0] | record.ids[1]) == 0) return own;
  const bool is_of_own = record.ids[0] == set[0] && record.ids[1] == set[1];
  return std::bit_cast<TraceContext>(
      TraceContext::Words{record.ids[0], record.ids[1], record.ids[2], is_of_own ? set[3] : 0});
}

// In shared memory: what a thread that waits works for. The thread writes, the collector reads, and
// neither trusts the other.
class ShownContext {
 public:
  // The address of the thread's `otel_thread_ctx_v1`; 0: it has none.
  std::atomic<uint64_t> otel_avma;

  // Not while it is under way on the same thread.
  void show(const TraceContext& own) {
    const TraceContext::Words words = own.words();
    sequence_.store(sequence_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    for (size_t i = 0; i < words.size(); ++i) words_[i].store(words[i], std::memory_order_relaxed);
    sequence_.store(sequence_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  // False when the thread was just writing.
  bool read(TraceContext& own) const {
    const uint32_t before = sequence_.load(std::memory_order_acquire);
    TraceContext::Words words{};
    for (size_t i = 0; i < words.size(); ++i) words[i] = words_[i].load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    own = std::bit_cast<TraceContext>(words);
    return before % 2 == 0 && sequence_.load(std::memory_order_relaxed) == before;
  }

 private:
  std::atomic<uint32_t> sequence_;
  std::atomic<uint64_t> words_[4];
};

}  // namespace sampan::wire

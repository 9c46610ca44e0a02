// The request that a thread works for, which may go through several services: the ids of W3C Trace
// Context.
//
// Freestanding: linked into the target.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace sampan::wire {

using TraceId = std::array<uint8_t, 16>;
using SpanId = std::array<uint8_t, 8>;

// Ids of zeros are none.
struct TraceContext {
  TraceId trace_id;
  SpanId span_id;
  SpanId parent_id;  // the span of another service that asked for this one, where that is known

  // The same bytes: a handler compares and copies words.
  using Words = std::array<uint64_t, 4>;
  Words words() const { return std::bit_cast<Words>(*this); }

  bool is_set() const {
    const Words all = words();
    return (all[0] | all[1]) != 0;
  }
  bool is_of_same_trace(const TraceContext& other) const {
    const Words a = words(), b = other.words();
    return ((a[0] ^ b[0]) | (a[1] ^ b[1])) == 0;
  }
  friend bool operator==(const TraceContext& a, const TraceContext& b) {
    return a.is_of_same_trace(b) && a.words()[2] == b.words()[2] && a.words()[3] == b.words()[3];
  }
  uint64_t hash() const {
    uint64_t hash = 0;
    for (const uint64_t word : words()) hash = (std::rotl(hash, 17) ^ word) * 0x9e3779b97f4a7c15;
    return hash ^ hash >> 32;
  }
};
static_assert(sizeof(TraceContext) == 32);

}  // namespace sampan::wire

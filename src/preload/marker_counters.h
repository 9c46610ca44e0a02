// What the counters of this process stand at.
//
// Async-signal-safe. Freestanding: linked into the target.
#pragma once

#include <cstdint>

namespace sampan::preload {

enum class CounterChange : uint8_t { kAdd, kSet };

struct CounterState {
  double value;
  uint64_t time_ns;
};

// The counter after the change, and a time for it that is later than that of every change before.
CounterState change_counter(uint32_t name, double value, CounterChange change);

// The name with this index is new: a counter of that name stands at 0.
void reset_counter(uint32_t name);

}  // namespace sampan::preload

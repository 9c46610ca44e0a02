// Value and time change in one instruction: were they apart, two threads could change a counter in
// one order and have times in the other, and its last value would not be what it stands at.
#include "preload/marker_counters.h"

#include <bit>

#include "base/clock.h"
#include "wire/marker_lane.h"

namespace sampan::preload {
namespace {

struct alignas(16) Counter {
  uint64_t value;  // the bits of a double
  uint64_t time_ns;
};
Counter counters[wire::kMaxMarkerNames];

// Every x86-64 processor with this clock has it; compilers want an option for it, or a library.
bool replace(Counter& counter, Counter& expected, const Counter& desired) {
  bool replaced = false;
  asm volatile("lock cmpxchg16b %1"
               : "=@ccz"(replaced), "+m"(counter), "+a"(expected.value), "+d"(expected.time_ns)
               : "b"(desired.value), "c"(desired.time_ns)
               : "memory");
  return replaced;
}

}  // namespace

CounterState change_counter(uint32_t name, double value, CounterChange change) {
  Counter& counter = counters[name];
  // A torn read is only a guess that fails.
  Counter before{__atomic_load_n(&counter.value, __ATOMIC_RELAXED),
                 __atomic_load_n(&counter.time_ns, __ATOMIC_RELAXED)};
  for (;;) {
    const double now =
        change == CounterChange::kSet ? value : std::bit_cast<double>(before.value) + value;
    uint64_t time_ns = monotonic_ns();
    if (time_ns <= before.time_ns) time_ns = before.time_ns + 1;
    if (replace(counter, before, {std::bit_cast<uint64_t>(now), time_ns})) return {now, time_ns};
  }
}

void reset_counter(uint32_t name) {
  counters[name] = {};
}

}  // namespace sampan::preload

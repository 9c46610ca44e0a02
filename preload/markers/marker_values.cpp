#include <bit>

#include "base/clock.h"
#include "preload/markers/marker_functions.h"
#include "preload/markers/marker_names.h"
#include "preload/markers/marker_thread.h"
#include "preload/process/process.h"
#include "preload/support/machine.h"
#include "wire/marker_lane.h"

// Events, counters and labels.
namespace sampan::preload {
namespace {

using wire::MarkerRecord;
using wire::MarkerType;

// The values of this process's counters. Value and time change at once. Otherwise two
// threads could change a counter in one order and have times in the other, and the last value by
// time would be wrong.
// The first word is the bits of a double, the second is the time.
WordPair counters[wire::kMaxMarkerNames];

enum class CounterChange : uint8_t { kAdd, kSet };

struct CounterState {
  double value;
  uint64_t time_ns;
};

// Returns the new value, and a time for it that is later than that of every earlier change.
CounterState change_counter(uint32_t name, double value, CounterChange change) {
  WordPair& counter = counters[name];
  // A torn read only makes the first attempt fail.
  WordPair before{__atomic_load_n(&counter.first, __ATOMIC_RELAXED),
                  __atomic_load_n(&counter.second, __ATOMIC_RELAXED)};
  for (;;) {
    const double now =
        change == CounterChange::kSet ? value : std::bit_cast<double>(before.first) + value;
    uint64_t time_ns = monotonic_ns();
    if (time_ns <= before.second) time_ns = before.second + 1;
    if (replace(counter, before, {std::bit_cast<uint64_t>(now), time_ns})) return {now, time_ns};
  }
}

void count(const char* name, double value, CounterChange change) {
  MarkerState* const thread = marker_thread();
  if (thread == nullptr) return;
  // A counter could never leave NaN again.
  if (!__builtin_isfinite(value)) return count_loss(wire::Loss::kMarkerCounter);
  const uint32_t index = index_of_name(MarkerText(name).view(), NameUse::kCounter);
  if (index == wire::kInlineName) return count_loss(wire::Loss::kMarkerCounter);
  const CounterState state = change_counter(index, value, change);
  MarkerRecord record = marker_record(*thread, MarkerType::kCounter, state.time_ns);
  record.name = index;
  record.value[1] = std::bit_cast<uint64_t>(state.value);
  thread->lane.write(record);
}

void label(MarkerType type, const char* text) {
  if (MarkerState* const thread = marker_thread()) {
    thread->lane.write(marker_record(*thread, type, monotonic_ns()), {}, MarkerText(text).view());
  }
}

void order_as(MarkerType type, int order) {
  MarkerState* const thread = marker_thread();
  if (thread == nullptr) return;
  MarkerRecord record = marker_record(*thread, type, monotonic_ns());
  record.flags = wire::kHasOrder;
  record.value[1] = static_cast<uint64_t>(int64_t{order});
  thread->lane.write(record);
}

}  // namespace

void event(const char* name, const char* text, uint64_t time_ns) {
  MarkerState* const thread = marker_thread();
  if (thread == nullptr) return;
  const MarkerText name_text(name);
  MarkerRecord record = marker_record(*thread, MarkerType::kEvent,
                                      time_ns != 0 ? of_machine(time_ns) : monotonic_ns());
  record.name = index_of_name(name_text.view(), NameUse::kOrdinary);
  thread->lane.write(record,
                     record.name == wire::kInlineName ? name_text.view() : std::string_view{},
                     MarkerText(text).view());
}

void counter_add(const char* name, double value) {
  count(name, value, CounterChange::kAdd);
}
void counter_set(const char* name, double value) {
  count(name, value, CounterChange::kSet);
}
void thread_label(const char* text) {
  label(MarkerType::kThreadLabel, text);
}
void thread_order(int order) {
  order_as(MarkerType::kThreadLabel, order);
}
void process_label(const char* text) {
  label(MarkerType::kProcessLabel, text);
}
void process_order(int order) {
  order_as(MarkerType::kProcessLabel, order);
}

void reset_counter(uint32_t name) {
  counters[name] = {};
}

}  // namespace sampan::preload

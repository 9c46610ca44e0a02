#include "preload/marker_values.h"

#include <bit>

#include "base/clock.h"
#include "preload/marker_counters.h"
#include "preload/marker_names.h"
#include "preload/marker_text.h"
#include "preload/marker_thread.h"
#include "preload/process.h"
#include "preload/threads.h"

namespace sampan::preload {
namespace {

using wire::MarkerRecord;
using wire::MarkerType;

void count(const char* name, double value, CounterChange change) {
  ThreadState* thread = marker_thread();
  if (thread == nullptr) return;
  // Nothing that is added to NaN would bring the counter back.
  if (!__builtin_isfinite(value)) return count_loss(wire::Loss::kMarkerCounter);
  const uint32_t index = index_of_name(MarkerText(name).view(), NameUse::kCounter);
  if (index == wire::kInlineName) return count_loss(wire::Loss::kMarkerCounter);
  const CounterState state = change_counter(index, value, change);
  MarkerRecord record = marker_record(thread->tid, MarkerType::kCounter, state.time_ns);
  record.name = index;
  record.value[1] = std::bit_cast<uint64_t>(state.value);
  thread->markers.lane.write(record);
}

void label(MarkerType type, const char* text) {
  if (ThreadState* thread = marker_thread()) {
    thread->markers.lane.write(marker_record(thread->tid, type, monotonic_ns()), {},
                               MarkerText(text).view());
  }
}

void order_as(MarkerType type, int order) {
  ThreadState* thread = marker_thread();
  if (thread == nullptr) return;
  MarkerRecord record = marker_record(thread->tid, type, monotonic_ns());
  record.flags = wire::kHasOrder;
  record.value[1] = static_cast<uint64_t>(int64_t{order});
  thread->markers.lane.write(record);
}

}  // namespace

void event(const char* name, const char* text, uint64_t time_ns) {
  ThreadState* thread = marker_thread();
  if (thread == nullptr) return;
  const MarkerText name_text(name);
  MarkerRecord record =
      marker_record(thread->tid, MarkerType::kEvent, time_ns != 0 ? time_ns : monotonic_ns());
  record.name = index_of_name(name_text.view(), NameUse::kOrdinary);
  thread->markers.lane.write(
      record, record.name == wire::kInlineName ? name_text.view() : std::string_view{},
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

}  // namespace sampan::preload

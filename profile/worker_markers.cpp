#include "profile/worker_markers.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include "profile/markers.h"
#include "profile/spans.h"

namespace sampan::profile {
namespace {

// The values of a counter in one process.
struct Series {
  double last = 0, sum = 0;
  uint64_t count = 0;
  bool fell = false;

  void add(double value) {
    fell = fell || (count != 0 && value < last);
    last = value;
    sum += value;
    ++count;
  }
};

// Totals of the processes of a worker add up; others have the mean of all their values.
WorkerCounter counter_of(uint32_t name,
                         const std::vector<std::pair<uint32_t, const Series*>>& series,
                         size_t workers) {
  WorkerCounter counter{.name = name, .is_total = true, .values = Spread(workers)};
  for (const auto& [worker, each] : series) counter.is_total = counter.is_total && !each->fell;
  std::vector<double> counts(workers, 0.0);
  for (const auto& [worker, each] : series) {
    counter.values.values[worker] += counter.is_total ? each->last : each->sum;
    counts[worker] += static_cast<double>(each->count);
  }
  for (size_t worker = 0; worker < workers && !counter.is_total; ++worker) {
    if (counts[worker] != 0) counter.values.values[worker] /= counts[worker];
  }
  counter.values.summarize();
  return counter;
}

double unevenness(const WorkerCounter& counter) {
  return counter.values.mean == 0 ? 0 : counter.values.deviation / std::abs(counter.values.mean);
}

}  // namespace

void compare_markers(const View& view, const std::vector<uint32_t>& worker_of_thread,
                     Workers* workers) {
  const Profile& profile = *view.profile;
  const ViewMarkers of_view = markers_of(view);
  const size_t count = workers->workers.size();

  std::map<uint32_t, Spread> spans;  // by name
  for (const uint32_t index : of_view.spans) {
    const Span& span = profile.markers.spans[index];
    const uint32_t worker = worker_of_thread[span.thread];
    if (worker == kNone) continue;
    spans.try_emplace(span.name, count).first->second.values[worker] +=
        static_cast<double>(duration_ns(span));
  }
  for (auto& [name, ns] : spans) {
    ns.summarize();
    workers->spans.push_back({name, std::move(ns)});
  }
  std::ranges::stable_sort(workers->spans, std::greater<>(),
                           [](const WorkerSpan& span) { return span.ns.excess(); });

  std::map<std::pair<uint32_t, uint32_t>, Series> series;  // by name and process
  std::map<uint32_t, std::vector<std::pair<uint32_t, const Series*>>> by_name;
  for (const uint32_t index : of_view.counters) {
    const CounterValue& row = profile.markers.counters[index];
    const uint32_t worker = worker_of_thread[row.thread];
    if (worker == kNone) continue;
    const auto [place, is_new] =
        series.try_emplace({row.name, profile.threads[row.thread].process});
    if (is_new) by_name[row.name].emplace_back(worker, &place->second);
    place->second.add(row.value);
  }
  for (const auto& [name, all] : by_name) workers->counters.push_back(counter_of(name, all, count));
  std::ranges::stable_sort(workers->counters, std::greater<>(), unevenness);
}

}  // namespace sampan::profile

#include "profile/metrics.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "profile/markers.h"

namespace sampan::profile {
namespace {

using Series = std::map<std::pair<uint32_t, uint32_t>, std::vector<MetricPoint>>;

// A name that no other series has.
std::string unique(const std::string& name, std::set<std::string>* taken) {
  std::string candidate = name;
  for (int i = 2; !taken->insert(candidate).second; ++i) {
    candidate = name + " (" + std::to_string(i) + ")";
  }
  return candidate;
}

void add(Series series, const Profile& profile, bool are_counters, std::set<std::string>* taken,
         std::vector<Metric>* metrics) {
  for (auto next = series.begin(); next != series.end(); ++next) {
    const uint32_t name = next->first.first, process = next->first.second;
    std::string text = profile.markers.texts[name];
    const auto shares_name = [&](Series::const_iterator other) {
      return other->first.first == name;
    };
    if ((next != series.begin() && shares_name(std::prev(next))) ||
        (std::next(next) != series.end() && shares_name(std::next(next)))) {
      text += " (pid " + std::to_string(profile.processes[process].pid) + ")";
    }
    metrics->push_back({unique(text, taken), are_counters, std::move(next->second)});
  }
}

}  // namespace

std::vector<Metric> metrics_of(const View& view) {
  const Profile& profile = *view.profile;
  const ViewMarkers of_view = markers_of(view);
  Series events, counters;  // by name; counters also by process
  for (const uint32_t index : of_view.events) {
    const Event& event = profile.markers.events[index];
    events[{event.name, 0}].push_back({.time_ns = event.time_ns});
  }
  for (const uint32_t index : of_view.counters) {
    const CounterValue& row = profile.markers.counters[index];
    counters[{row.name, profile.threads[row.thread].process}].push_back({row.time_ns, row.value});
  }
  std::vector<Metric> metrics;
  std::set<std::string> taken;
  add(std::move(events), profile, false, &taken, &metrics);
  add(std::move(counters), profile, true, &taken, &metrics);
  std::sort(metrics.begin(), metrics.end(),
            [](const Metric& a, const Metric& b) { return a.name < b.name; });
  return metrics;
}

std::optional<Intervals> intervals(const Metric& metric) {
  const std::vector<MetricPoint>& points = metric.points;
  if (points.size() < 2) return {};
  Intervals result{.min_ns = UINT64_MAX};
  for (size_t i = 1; i < points.size(); ++i) {
    const uint64_t ns = points[i].time_ns - points[i - 1].time_ns;
    result.min_ns = std::min(result.min_ns, ns);
    result.max_ns = std::max(result.max_ns, ns);
  }
  result.average_ns = static_cast<double>(points.back().time_ns - points.front().time_ns) /
                      static_cast<double>(points.size() - 1);
  return result;
}

Values values(const Metric& counter) {
  Values result{.min = counter.points[0].value, .max = counter.points[0].value};
  double sum = 0;
  for (const MetricPoint& point : counter.points) {
    result.min = std::min(result.min, point.value);
    result.max = std::max(result.max, point.value);
    sum += point.value;
  }
  result.average = sum / static_cast<double>(counter.points.size());
  result.last = counter.points.back().value;
  return result;
}

}  // namespace sampan::profile

// The events and counters of a view as series over time with unique names.
//
// A counter belongs to a process. When several processes have a counter with the same name, each is
// a series, "queue (pid 7)"; an event is one series for all processes. A number is appended to a
// name that is in use already: when an event has the name of a counter.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "profile/view.h"

namespace sampan::profile {

struct MetricPoint {
  SessionNs time_ns = 0;
  double value = 0;  // of a counter
};

struct Metric {
  std::string name;
  bool is_counter = false;
  std::vector<MetricPoint> points = {};  // by time; at least one
};

// By name.
std::vector<Metric> metrics_of(const View& view);

// The times between successive points, of which there are at least two.
struct Intervals {
  uint64_t min_ns = 0, max_ns = 0;
  double average_ns = 0;
};
std::optional<Intervals> intervals(const Metric& metric);

// The values of a counter after each change; each change has the same weight.
struct Values {
  double min = 0, max = 0, average = 0, last = 0;
};
Values values(const Metric& counter);

}  // namespace sampan::profile

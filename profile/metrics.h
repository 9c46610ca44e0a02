// The events and counters of a view as series over time, each with a name of its own.
//
// A counter is of a process. Where several processes have one of a name, each is a series, "queue
// (pid 7)"; an event is one series however many processes have it. Where a name is taken, by an
// event that is called as a counter, a number makes the difference.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "profile/view.h"

namespace sampan::profile {

struct MetricPoint {
  uint64_t time_ns = 0;
  double value = 0;  // of a counter
};

struct Metric {
  std::string name;
  bool is_counter = false;
  std::vector<MetricPoint> points = {};  // by time; at least one
};

// By name.
std::vector<Metric> metrics_of(const View& view);

// Of two or more points, the times between one and the next.
struct Intervals {
  uint64_t min_ns = 0, max_ns = 0;
  double average_ns = 0;
};
std::optional<Intervals> intervals(const Metric& metric);

// Of a counter: what it stood at after each change, every change counting the same.
struct Values {
  double min = 0, max = 0, average = 0, last = 0;
};
Values values(const Metric& counter);

}  // namespace sampan::profile

// The events and counters of a view as files in a directory: one table of all, a table of each, and
// pictures. docs/metrics.md describes them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "profile/metrics.h"
#include "profile/view.h"

namespace sampan::exporters {

struct WrittenMetrics {
  size_t metrics = 0;
  std::vector<std::string> notes;  // what was left out, or lost
};

// Creates the directory. Each file is complete or absent. Throws Error.
WrittenMetrics write_metrics(const profile::View& view, const std::string& directory);

// Pictures of metrics: self-contained SVG, for light and dark pages.
//
// A counter is drawn as a line of steps, an event as bars: its number in each slice of time. There
// is one piece of line or one bar for every few pixels, however many points there are. A piece of a
// counter's line has its lowest and highest value there, so no peak is lost. Values that are not
// finite are left out and counted in the picture.

// The horizontal axis: nanoseconds since the session's start.
struct TimeLine {
  SessionNs from_ns = 0, to_ns = 1;
};

// The run's time or the selected time; not empty.
TimeLine time_line_of(const profile::View& view);

void write_plot(const profile::Metric& metric, const TimeLine& time_line, const std::string& path);
// Draws the metrics below each other, each with its own scale. Returns notes on what was left out.
std::vector<std::string> write_comparison(const std::vector<profile::Metric>& metrics,
                                          const TimeLine& time_line, const std::string& path);

}  // namespace sampan::exporters

// Pictures of metrics: SVG that needs nothing but itself, in light or dark.
//
// A counter is a line of steps, an event bars: how often it came in each slice of time. However
// many points there are, there is one piece of line, or one bar, per few pixels: of a counter with
// its lowest and its highest value there, so no peak is lost. Values that are not finite are left
// out, and counted in the picture.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profile/metrics.h"

namespace sampan::exporters {

// What the horizontal axis is: nanoseconds since the session's start.
struct TimeLine {
  uint64_t from_ns = 0, to_ns = 1;
};

// The run's, or the time that was selected. Longer than nothing.
TimeLine time_line_of(const profile::View& view);

void write_plot(const profile::Metric& metric, const TimeLine& time_line, const std::string& path);
// All of them below each other, each on a scale of its own. Returns notes: what was left out.
std::vector<std::string> write_comparison(const std::vector<profile::Metric>& metrics,
                                          const TimeLine& time_line, const std::string& path);

}  // namespace sampan::exporters

// What of the markers a view has: those of its threads, and of their processes, in its time.
// Intervals that only reach into its time are of it, whole.
#pragma once

#include <cstdint>
#include <vector>

#include "profile/view.h"

namespace sampan::profile {

// Indexes into the tables of Markers, in their order.
struct ViewMarkers {
  std::vector<uint32_t> spans;  // begun or ended by one of the view's threads
  std::vector<uint32_t> events;
  std::vector<uint32_t> counters;  // of processes that one of the view's threads is of
  std::vector<uint32_t> sections;  // of one of its threads, or of the process of one
};

// By thread of the profile, whether the view has it; threads that are merged into one count too.
std::vector<bool> has_threads(const View& view);

ViewMarkers markers_of(const View& view);

}  // namespace sampan::profile

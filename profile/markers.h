// What the program reported itself (base/markers.h): put in order when a recording is loaded, and
// chosen by the threads and the time of a view.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profile/profile.h"
#include "profile/view.h"

namespace sampan::profile {

// Enters the markers, each table by time, and gives threads and processes the names and positions
// of their labels. The profile's threads and processes are loaded already.
void load_markers(Markers markers, Profile* profile);

// Indexes into the tables of Markers, in their order. Intervals that only reach into the view's time
// are included, whole.
struct ViewMarkers {
  std::vector<uint32_t> spans;  // begun or ended by one of the view's threads
  std::vector<uint32_t> events;
  std::vector<uint32_t> counters;  // of the processes of the view's threads
  std::vector<uint32_t> sections;  // of one of its threads, or of the process of one
};

// By thread of the profile, whether the view has it; threads that are merged into one count too.
std::vector<bool> has_threads(const View& view);

ViewMarkers markers_of(const View& view);

// Markers that were lost before they reached the recording, a sentence for each reason:
// "lost: 1,234 markers dropped, lane full".
std::vector<std::string> marker_losses(const Profile& profile);

}  // namespace sampan::profile

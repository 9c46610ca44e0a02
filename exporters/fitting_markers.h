// Selects the markers of a view that fit into a file: a program may have millions. If not all fit,
// the shortest intervals are left out first, and events and counters are thinned evenly.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "profile/markers.h"

namespace sampan::exporters {

// The approximate bytes of a marker in a file, without its name and text.
struct MarkerBytes {
  uint64_t span = 0, event = 0, counter = 0, section = 0;
  // How often the name of an interval is written; names of events and counters are written at most
  // once. 0: each name once for all markers.
  uint64_t names = 0;
};

struct FittingMarkers {
  profile::ViewMarkers rows;
  std::vector<std::string> notes;  // what was left out
};

// `max_size`: bytes of all of them.
FittingMarkers fitting_markers(const profile::View& view, uint64_t max_size,
                               const MarkerBytes& bytes);

// A span's id as 16 hexadecimal digits, because numbers in JSON have 53 bits.
std::string span_id(uint64_t id);

// "by the end of its thread"; "" if the program closed it.
std::string_view closed_text(profile::Closed closed);

}  // namespace sampan::exporters

// Which markers of a view a file has room for. A program may say millions of things; where there is
// not room for all, intervals that are short go first, and of moments every so many stay.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "profile/view_markers.h"

namespace sampan::exporters {

// About what a marker takes in a file, without its name and text.
struct MarkerBytes {
  uint64_t span = 0, event = 0, counter = 0, section = 0;
  // How often the name of an interval is written; that of a moment once at most. 0: each name once
  // for all markers.
  uint64_t names = 0;
};

struct FittingMarkers {
  profile::ViewMarkers rows;
  std::vector<std::string> notes;  // what was left out
};

// `max_size`: bytes of all of them.
FittingMarkers fitting_markers(const profile::View& view, uint64_t max_size,
                               const MarkerBytes& bytes);

// A span's id as people look for it: 16 hexadecimal digits. JSON's numbers end at 53 bits.
std::string span_id(uint64_t id);

// "by the end of its thread"; "" for what the program closed.
std::string_view closed_text(profile::Closed closed);

}  // namespace sampan::exporters

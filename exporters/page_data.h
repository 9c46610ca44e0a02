// What profile.html carries of a view, as src/viewer/data/profile.js describes it: two texts for
// two elements of the page, each base64 of a zlib stream (RFC 1950).
//
//   header   JSON: figures, strings, modules, processes, threads, and which columns there are
//   columns  one after the other: functions, stacks, samples, markers (page_columns.h)
//
// Handles are the page's own: only what the view has is in it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profile/view.h"

namespace sampan::exporters {

struct PageData {
  std::string header;
  std::string columns;
  std::vector<std::string> notes;  // what was merged to stay within max_size
};

// `max_size`: bytes of both texts; 0: any number.
PageData page_data(const profile::View& view, uint64_t max_size);

}  // namespace sampan::exporters

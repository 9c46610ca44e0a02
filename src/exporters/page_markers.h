// The markers of a profile as profile.html has them: columns "spans.…", "sections.…", "events.…"
// and "counters.…", and the texts that they point into. Rows are by thread of the page, or by
// process and name, and then by time: so each row is little more than the one before.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "exporters/page_columns.h"
#include "profile/view.h"

namespace sampan::exporters {

struct PageMarkers {
  std::vector<std::string_view> texts = {""};
  std::vector<PageColumn> columns;
  std::vector<std::string> notes;  // what was left out
};

// Those of the view that fit into `max_size` bytes.
PageMarkers page_markers(const profile::View& view, uint64_t max_size);

}  // namespace sampan::exporters

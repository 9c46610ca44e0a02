// The events and counters of a view as files in a directory: a table of all, a table of each, and
// pictures. docs/metrics.md says what is in them.
#pragma once

#include <string>
#include <vector>

#include "profile/metrics.h"
#include "profile/view.h"

namespace sampan::exporters {

struct WrittenMetrics {
  size_t metrics = 0;
  std::vector<std::string> notes;  // what was left out, or lost
};

// Creates the directory. Each file is complete or absent. Throws Error.
WrittenMetrics write_metrics(const profile::View& view, const std::string& directory);

}  // namespace sampan::exporters

// What happens when a recording is complete: names for its addresses, the files that were asked
// for, the page.
#pragma once

#include <string>
#include <vector>

#include "exporters/exporter.h"
#include "symbolizer/symbolizer.h"

namespace sampan::cli {

struct ResultOptions {
  std::vector<const exporters::Format*> formats;
  bool page = true;  // on stderr: the program's stdout is its own
  std::vector<symbolizer::Substitute> substitutes = {};
  size_t max_sections = exporters::kUsualSections;
  bool symbolize = true;  // write the names into the recording, too
};

// Writes into `directory`, where recording.sampan is. Throws Error.
void write_results(const std::string& directory, const ResultOptions& options);

}  // namespace sampan::cli

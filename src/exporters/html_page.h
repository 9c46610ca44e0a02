// The page of profile.html, and what it is without its data: src/viewer, made one text by the
// build.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "exporters/exporter.h"

namespace sampan::exporters {

struct PageOptions {
  bool is_live = false;  // it is served, and asks for its data again (src/viewer/live.js)
};

// Writes `path`: complete or absent. Throws Error. `max_size`: bytes; 0: any number.
Outcome write_page(const profile::View& view, const std::string& path, uint64_t max_size,
                   const PageOptions& options = {});

extern const std::string_view kPageBeforeData;
extern const std::string_view kPageAfterData;

}  // namespace sampan::exporters

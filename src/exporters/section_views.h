// Which sections of a view have files of their own: those of the longest occurrence, as many as the
// options say. Requests may overlap, and each may have the whole run: their files together stay
// within a few times those of the run.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "exporters/exporter.h"

namespace sampan::exporters {

// A section with very many threads has no files of single ones: `options` are its own.
using VisitSection = std::function<void(const profile::View& part, const std::string& section,
                                        const WriteOptions& options)>;

// Calls visit for each, the longest first. Returns what is to be said of those left out.
std::vector<std::string> for_each_section(const profile::View& view, const WriteOptions& options,
                                          const VisitSection& visit);

}  // namespace sampan::exporters

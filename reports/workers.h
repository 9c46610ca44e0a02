// The workers of one job beside each other: for the terminal and as data.
#pragma once

#include <string>

#include "profile/workers.h"
#include "reports/report.h"

namespace sampan::reports {

// `options`: top, width, colour, notes.
std::string workers_page(const profile::View& view, const profile::Workers& workers,
                         const PageOptions& options);
// One object, see docs/ranks-json.md.
std::string workers_json(const profile::View& view, const profile::Workers& workers,
                         const std::vector<std::string>& notes);
// A line for each function, span and counter, with its seconds or its value in each worker.
std::string workers_csv(const profile::View& view, const profile::Workers& workers);

}  // namespace sampan::reports

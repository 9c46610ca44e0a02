// Requests across services (profile/traces.h): for the terminal and as data.
#pragma once

#include <string>
#include <vector>

#include "profile/traces.h"
#include "reports/report.h"

namespace sampan::reports {

// `options`: top (traces), width, colour, names, notes.
std::string traces_page(const profile::View& view, const std::vector<profile::Trace>& traces,
                        const PageOptions& options);
// One object, see docs/spans-json.md.
std::string traces_json(const profile::View& view, const std::vector<profile::Trace>& traces,
                        const std::vector<std::string>& notes = {});

}  // namespace sampan::reports

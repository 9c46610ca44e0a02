// The changes between two runs: for the terminal and as data.
#pragma once

#include <string>
#include <vector>

#include "profile/diff.h"
#include "reports/report.h"

namespace sampan::reports {

// `options`: top, width, colour, notes.
std::string diff_page(const profile::View& view, const profile::Diff& diff,
                      const PageOptions& options);
// One object, see docs/diff-json.md.
std::string diff_json(const profile::View& view, const profile::Diff& diff,
                      const std::vector<std::string>& notes = {});

}  // namespace sampan::reports

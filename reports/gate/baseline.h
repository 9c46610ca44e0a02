// The figures of earlier runs, in a file that is small enough for a repository: means and variances, no samples.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "reports/gate/environment.h"
#include "reports/gate/judge.h"
#include "reports/gate/quantity.h"

namespace sampan::reports {

struct Baseline {
  std::vector<std::string> command;
  Environment environment;
  std::map<Quantity, Series> series;
};

// The most bytes of a file: rows of functions with little time are left out.
inline constexpr size_t kLargestBaseline = 50'000;

// JSON, one line for each figure, so that changes can be read in a diff.
std::string baseline_text(const Baseline& baseline);
// Throws Error, which names `path`, for what is no such file.
Baseline parse_baseline(const std::string& text, const std::string& path);

}  // namespace sampan::reports

// The budgets of a project: sampan-ci.toml (https://toml.io, version 1.0).
//
//   runs = 10                  # how many, unless the command line says
//   [[budget]]
//   function = "parse"         # or span, or thread; none: the whole program
//   figure = "cpu"             # the default; see Figure in quantity.h
//   max = "2s"                 # a time, or a share: "30%"
//   max-growth = "5%"          # against the baseline
//   confidence = "99.9%"       # the default: a gate of equal programs is not broken by it
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/gate/quantity.h"

namespace sampan::reports {

struct Budget {
  Quantity quantity;
  std::optional<double> max = {};         // in the unit of the quantity
  std::optional<double> max_growth = {};  // 0.05: 5 %
  double confidence = 0.999;              // see judge.h
};

struct Budgets {
  std::vector<Budget> budgets;
  std::optional<unsigned> runs;
};

// Throws Error with the file's name, and the line where it is wrong.
Budgets read_budgets(const std::string& path);
// The same for the text of a file.
Budgets parse_budgets(const std::string& text, const std::string& path);

}  // namespace sampan::reports

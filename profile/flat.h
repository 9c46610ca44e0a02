// The flat table of a view: self and total per function, or per line, file, module, thread or
// process.
//
//   self   samples whose innermost frame it is
//   total  samples with it anywhere in the stack; a recursive function counts once per sample
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "profile/view.h"
#include "profile/weights.h"

namespace sampan::profile {

enum class By { kFunction, kLine, kFile, kModule, kThread, kProcess };

// By decides which handles a row has; the others are kNone (strings and lines: 0).
struct FlatRow {
  uint32_t function = kNone;  // kFunction, kLine; kNone there: samples without a stack
  // String. kLine, kFile: of the line; kFunction: of the definition; kModule: of a Python module.
  uint32_t file = 0;
  uint32_t line = 0;         // kLine; kFunction: of the definition
  uint32_t module = kNone;   // kFunction, kLine, kModule; kFile where the file is not known
  uint32_t thread = kNone;   // kThread
  uint32_t process = kNone;  // kThread, kProcess
  Weight self;
  Weight total = {};
};

// One row for each function (or line, file, …) with samples in the view: most self CPU first, then
// most total CPU, then in the order of the profile. The self weights sum to the view's total.
std::vector<FlatRow> flat_table(const View& view, By by = By::kFunction);
// The same for stacks that are summed up already, one row per stack; not by thread or process.
std::vector<FlatRow> flat_table(const Profile& profile, std::span<const WeightedStack> stacks,
                                By by = By::kFunction);

}  // namespace sampan::profile

// How tables show functions: by their short names, made to fit, or in full where that was asked
// for.
#pragma once

#include <cstdint>
#include <string>

#include "profile/profile.h"
#include "reports/report.h"
#include "reports/table.h"

namespace sampan::reports {

Column function_column(const PageOptions& options, std::string title = "function");
// Printable. kNone is "[unknown]".
std::string function_cell(const profile::Profile& profile, uint32_t function,
                          const PageOptions& options);
// The cell, in `width` columns unless it is to be in full.
std::string fitted_name(std::string_view cell, size_t width, const PageOptions& options);

}  // namespace sampan::reports

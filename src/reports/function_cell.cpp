#include "reports/function_cell.h"

#include <utility>

#include "profile/frames.h"
#include "reports/short_name.h"
#include "reports/shorten.h"
#include "reports/text.h"

namespace sampan::reports {

Column function_column(const PageOptions& options, std::string title) {
  Column column{.title = std::move(title), .left = true};
  if (!options.full_names) {
    column.minimum = 20;
    column.cut = shorten;
  }
  return column;
}

std::string function_cell(const profile::Profile& profile, uint32_t function,
                          const PageOptions& options) {
  const std::string_view name = function_name(profile, function);
  return printable(options.full_names ? std::string(name) : short_name(name));
}

std::string fitted_name(std::string_view cell, size_t width, const PageOptions& options) {
  return options.full_names ? std::string(cell) : shorten(cell, width);
}

}  // namespace sampan::reports

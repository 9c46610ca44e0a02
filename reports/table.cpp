#include "reports/table.h"

#include <algorithm>
#include <utility>

#include "base/text/function_name.h"
#include "base/text/readable.h"
#include "profile/frames.h"
#include "profile/python_modules.h"

namespace sampan::reports {
namespace {

constexpr std::string_view kGap = "  ";

}  // namespace

void Table::add(std::vector<std::string> cells, bool strong) {
  cells.resize(columns_.size());
  rows_.push_back({std::move(cells), strong});
}

std::string Table::text(size_t width, const Style& style) const {
  const std::vector<size_t> fitted = widths(width);
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  std::string result = style.faint(line(titles, fitted)) + "\n";
  for (const Row& row : rows_) {
    const std::string text = line(row.cells, fitted);
    result += (row.strong ? style.strong(text) : text) + "\n";
  }
  return result;
}

std::vector<size_t> Table::widths(size_t width) const {
  std::vector<size_t> result;
  size_t total = 0;
  for (size_t i = 0; i < columns_.size(); ++i) {
    size_t widest = 0;
    for (const Row& row : rows_) widest = std::max(widest, sampan::columns(row.cells[i]));
    if (widest != 0) widest = std::max(widest, sampan::columns(columns_[i].title));
    result.push_back(widest);
    if (widest != 0) total += widest + kGap.size();
  }
  for (; total > width; --total) {
    size_t widest = columns_.size();
    for (size_t i = 0; i < columns_.size(); ++i) {
      const size_t minimum = columns_[i].minimum;
      if (minimum == 0 || result[i] <= minimum) continue;
      if (widest == columns_.size() || result[i] > result[widest]) widest = i;
    }
    if (widest == columns_.size()) break;  // the terminal is narrower than all minimums
    --result[widest];
  }
  return result;
}

std::string Table::line(const std::vector<std::string>& cells,
                        const std::vector<size_t>& widths) const {
  std::string result;
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (widths[i] == 0) continue;
    const Column& column = columns_[i];
    std::string cell = cells[i];
    if (sampan::columns(cell) > widths[i]) {
      cell = column.cut ? column.cut(cell, widths[i]) : cut_end(cell, widths[i]);
    }
    const std::string padding(widths[i] - sampan::columns(cell), ' ');
    result += kGap;
    result += column.left ? cell + padding : padding + cell;
  }
  result.erase(result.find_last_not_of(' ') + 1);
  return result;
}

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

std::string function_module_path(const profile::Profile& profile, uint32_t function) {
  if (function == profile::kNone) return "";
  const profile::Function& row = profile.functions[function];
  return row.module != profile::kNone ? profile.modules[row.module].path
                                      : profile::python_module(profile.strings[row.file]);
}

std::string function_module_cell(const profile::Profile& profile, uint32_t function) {
  return printable(profile::file_name(function_module_path(profile, function)));
}

std::string fitted_name(std::string_view cell, size_t width, const PageOptions& options) {
  return options.full_names ? std::string(cell) : shorten(cell, width);
}

}  // namespace sampan::reports

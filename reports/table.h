// Aligned tables of text, no wider than the terminal, the cells of functions in them, and emphasis.
//
// A column is as wide as its widest cell; columns without text are left out. If the table is too
// wide, flexible columns become narrower, the widest first, down to their minimum. Their cells are
// then cut with the column's function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "profile/profile.h"
#include "reports/report.h"

namespace sampan::reports {

// Rows with at least this share of the time are emphasized.
inline constexpr double kStrongShare = 0.1;

// Emphasis (ECMA-48, SGR); without colour, texts are unchanged.
class Style {
 public:
  explicit Style(bool colour) : colour_(colour) {}

  std::string heading(std::string_view text) const { return with("1", text); }
  std::string strong(std::string_view text) const { return with("1", text); }
  std::string faint(std::string_view text) const { return with("2", text); }
  std::string warning(std::string_view text) const { return with("33", text); }

 private:
  std::string with(std::string_view code, std::string_view text) const {
    if (!colour_ || text.empty()) return std::string(text);
    return "\033[" + std::string(code) + "m" + std::string(text) + "\033[0m";
  }
  bool colour_;
};

struct Column {
  std::string title;
  bool left = false;   // aligned to the left; numbers are to the right
  size_t minimum = 0;  // the least width; 0: the width is fixed
  // Cuts a cell; cut_end by default.
  std::function<std::string(std::string_view text, size_t width)> cut = {};
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // As many cells as columns, printable (readable.h). `strong` rows are emphasized if there is colour.
  void add(std::vector<std::string> cells, bool strong = false);
  bool empty() const { return rows_.empty(); }

  // Every line ends in a newline and begins with two spaces; no line ends in spaces.
  std::string text(size_t width, const Style& style) const;

 private:
  struct Row {
    std::vector<std::string> cells;
    bool strong;
  };
  std::vector<size_t> widths(size_t width) const;
  std::string line(const std::vector<std::string>& cells, const std::vector<size_t>& widths) const;

  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

// Short names that are made to fit, or full names if the options say so.
Column function_column(const PageOptions& options, std::string title = "function");
// Printable. kNone is "[unknown]".
std::string function_cell(const profile::Profile& profile, uint32_t function,
                          const PageOptions& options);
// The file name of the function's module; of Python's functions the module's name, or its file's.
// Printable.
std::string function_module_cell(const profile::Profile& profile, uint32_t function);
// The same as a path, not yet printable.
std::string function_module_path(const profile::Profile& profile, uint32_t function);
// The cell, shortened to `width` columns unless names are shown in full.
std::string fitted_name(std::string_view cell, size_t width, const PageOptions& options);

}  // namespace sampan::reports

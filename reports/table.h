// Tables of text, aligned, no wider than the terminal.
//
// A column is as wide as its widest cell; one without any text is left out. When the table is too
// wide, flexible columns give way, the widest first, down to their minimum; their cells are then
// cut in the way of the column.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/style.h"

namespace sampan::reports {

struct Column {
  std::string title;
  bool left = false;   // aligned to the left; numbers are to the right
  size_t minimum = 0;  // columns it needs at least; 0: it does not give way
  // How a cell is made to fit; cut_end when empty.
  std::function<std::string(std::string_view text, size_t width)> cut = {};
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // As many cells as columns, printable (text.h). `strong` rows stand out where there is colour.
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

}  // namespace sampan::reports

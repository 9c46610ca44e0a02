// Rows of comma-separated values (RFC 4180, but lines end in a line feed).
//
// Cells with a comma, a quote or a line break are quoted. Cells that a spreadsheet would run as a
// formula get an apostrophe in front, which spreadsheets do not show. Hosted only.
#pragma once

#include <fmt/format.h>

#include <iterator>
#include <string>
#include <string_view>

#include "base/units.h"
#include "base/utf8.h"

namespace sampan {

inline std::string csv_text(std::string_view text) {
  constexpr std::string_view kFormulas = "=+-@\t\r";
  std::string valid = valid_utf8(text);
  if (!valid.empty() && kFormulas.find(valid[0]) != std::string_view::npos)
    valid.insert(0, 1, '\'');
  if (valid.find_first_of(",\"\r\n") == std::string::npos) return valid;
  std::string quoted = "\"";
  for (const char c : valid) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

class CsvRow {
 public:
  CsvRow& text(std::string_view text) { return raw(csv_text(text)); }
  // A cell that csv_text() made.
  CsvRow& raw(std::string_view cell) {
    begin_cell();
    text_ += cell;
    return *this;
  }
  template <typename Integer>
  CsvRow& number(Integer number) {
    begin_cell();
    const fmt::format_int digits(number);
    text_.append(digits.data(), digits.size());
    return *this;
  }
  CsvRow& seconds(uint64_t ns) {
    begin_cell();
    fmt::format_to(std::back_inserter(text_), "{}.{:09}", ns / kNsPerSecond, ns % kNsPerSecond);
    return *this;
  }
  CsvRow& empty() { return raw(""); }

  // The row, with its line feed. Begins the next one.
  std::string_view end() {
    text_ += '\n';
    first_ = ended_ = true;
    return text_;
  }

 private:
  void begin_cell() {
    if (ended_) text_.clear();
    ended_ = false;
    if (!first_) text_ += ',';
    first_ = false;
  }

  std::string text_;
  bool first_ = true;
  bool ended_ = false;
};

}  // namespace sampan

// Text in cells of a terminal: names that a program chose are made harmless, and fit.
//
// A terminal that knows no UTF-8 gets ASCII. Widths are those of the C library's wcwidth(), by the
// locale that the program has set.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sampan::top {

// Control characters, bytes that are no UTF-8, and characters that take no cell (they may turn
// the direction of writing around) become "?".
std::string harmless(std::string_view text);

// Cells that a harmless text takes.
size_t cells(std::string_view text);
// Exactly `width` cells of a harmless text: cut, or with spaces behind it.
std::string fit(std::string_view text, size_t width);
// The same with spaces in front.
std::string fit_right(std::string_view text, size_t width);
// The end of it, at most `width` cells.
std::string last_cells(std::string_view text, size_t width);
// The short form of a function's name (reports/short_name.h) in at most `width` cells, what tells
// least cut first.
std::string fit_name(std::string_view name, size_t width);

}  // namespace sampan::top

// Text in terminal cells: makes untrusted names harmless, and fits them into columns.
//
// On a terminal without UTF-8 the text is ASCII. Widths are those of the C library's wcwidth() in
// the program's locale.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sampan::top {

// Control characters, invalid UTF-8 and characters without a width (some reverse the direction of
// writing) become "?".
std::string harmless(std::string_view text);

// The width of a harmless text in cells.
size_t cells(std::string_view text);
// A harmless text cut or padded to exactly `width` cells.
std::string fit(std::string_view text, size_t width);
// The same, padded on the left.
std::string fit_right(std::string_view text, size_t width);
// The end of a text, at most `width` cells.
std::string last_cells(std::string_view text, size_t width);
// The short form of a function's name (reports/short_name.h) in at most `width` cells, cutting the
// most distinctive part last.
std::string fit_name(std::string_view name, size_t width);

}  // namespace sampan::top

// Numbers and names as a person reads them in a terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sampan::reports {

std::string count(uint64_t n);                             // 2,978
std::string plural_of(uint64_t n, std::string_view noun);  // "sample", "samples"
std::string plural(uint64_t n, std::string_view noun);     // "1 sample", "2,978 samples"
std::string seconds(uint64_t ns);  // "0.004", "12.34", "1,234.5": three digits or more
std::string duration(double ns);   // "850ns", "1.25µs", "99.9ms", "3.00s": three digits or more
std::string percent(double part, double whole);  // "99.8"; "-" of nothing

// "2026-11-20T20:01:02.345Z"
std::string iso_8601(uint64_t unix_ns);

// Without control characters and bytes that are no UTF-8: a name cannot move the cursor.
std::string printable(std::string_view text);
// Columns that a printable text takes.
size_t columns(std::string_view text);
// At most `width` columns of it, with … where it was cut.
std::string cut_end(std::string_view text, size_t width);
std::string cut_start(std::string_view text, size_t width);
// Lines of at most `width` columns, broken at spaces; a longer word has a line of its own.
std::vector<std::string> wrap(std::string_view text, size_t width);
// A path (with ":line" behind it, perhaps) without as many of its first directories as needed.
std::string cut_path(std::string_view path, size_t width);
// The part of a path after the last slash.
std::string_view file_name(std::string_view path);

}  // namespace sampan::reports

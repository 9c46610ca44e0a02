// Numbers, names and outcomes for people to read in a terminal. Hosted only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace sampan {

std::string count(uint64_t n);                             // 2,978
std::string plural_of(uint64_t n, std::string_view noun);  // "sample", "samples"
std::string plural(uint64_t n, std::string_view noun);     // "1 sample", "2,978 samples"
std::string number(double value);  // "0.004", "12.34", "1,234.5": three digits or more
std::string seconds(uint64_t ns);  // the same digits
std::string duration(double ns);   // "850ns", "1.25µs", "99.9ms", "3.00s": three digits or more
std::string percent(double part, double whole);  // "99.8"; "-" if `whole` is 0

// "2026-11-20T20:01:02.345Z"
std::string iso_8601(UnixNs unix_ns);

// Without control characters and invalid UTF-8, so that a name cannot move the cursor.
std::string printable(std::string_view text);
// The width of a printable text, in columns.
size_t columns(std::string_view text);
// At most `width` columns of the text, with … where it was cut.
std::string cut_end(std::string_view text, size_t width);
std::string cut_start(std::string_view text, size_t width);
// Lines of at most `width` columns, broken at spaces; a longer word has a line of its own.
std::vector<std::string> wrap(std::string_view text, size_t width);
// A path, possibly followed by ":line", without as many of its first directories as necessary.
std::string cut_path(std::string_view path, size_t width);
// The part of a path after the last slash.
std::string_view file_name(std::string_view path);

// The order of names for people: numbers in them count, so worker-2 comes before worker-10.
bool natural_less(std::string_view a, std::string_view b);

// "SIGSEGV", "signal 99".
std::string signal_name(int signal);
// How a process ended: "exit status 3", "killed by SIGSEGV"; empty when neither is known.
std::string ended(std::optional<int> exit_status, std::optional<int> exit_signal);

}  // namespace sampan

#include "base/text/readable.h"

#include <fmt/chrono.h>
#include <fmt/core.h>
#include <string.h>

#include <algorithm>
#include <ctime>

#include "base/time.h"
#include "base/utf8.h"

namespace sampan {
namespace {

// "1234567.8" -> "1,234,567.8"
std::string group_digits(std::string digits) {
  const size_t point = digits.find('.');
  for (size_t i = point == digits.npos ? digits.size() : point; i > 3;) {
    digits.insert(i -= 3, 1, ',');
  }
  return digits;
}

constexpr std::string_view kEllipsis = "…";

}  // namespace

std::string count(uint64_t n) {
  return group_digits(std::to_string(n));
}

std::string plural_of(uint64_t n, std::string_view noun) {
  return std::string(noun) + (n == 1 ? "" : noun.ends_with("s") ? "es" : "s");
}

std::string plural(uint64_t n, std::string_view noun) {
  return count(n) + " " + plural_of(n, noun);
}

std::string number(double value) {
  const int decimals = value < 9.9995 ? 3 : value < 999.95 ? 2 : 1;
  return group_digits(fmt::format("{:.{}f}", value, decimals));
}

std::string seconds(uint64_t ns) {
  return number(in_seconds(ns));
}

std::string duration(double ns) {
  constexpr struct {
    const char* name;
    double ns;
  } kUnits[] = {{"s", 1e9}, {"ms", 1e6}, {"µs", 1e3}};
  for (const auto& unit : kUnits) {
    const double number = ns / unit.ns;
    if (number < 0.9995) continue;
    const int decimals = number < 9.995 ? 2 : number < 99.95 ? 1 : 0;
    return group_digits(fmt::format("{:.{}f}", number, decimals)) + unit.name;
  }
  return fmt::format("{:.0f}ns", ns);
}

std::string percent(double part, double whole) {
  return whole > 0 ? fmt::format("{:.1f}", 100 * part / whole) : "-";
}

std::string iso_8601(UnixNs unix_ns) {
  const auto seconds = static_cast<std::time_t>(unix_ns / 1'000'000'000);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(seconds),
                     unix_ns / 1'000'000 % 1000);
}

std::string printable(std::string_view text) {
  const std::string valid = valid_utf8(text);
  std::string result;
  for (size_t i = 0; i < valid.size(); ++i) {
    const auto byte = static_cast<uint8_t>(valid[i]);
    // C2 80 to C2 9F are the control characters of Latin-1.
    const bool latin = byte == 0xc2 && static_cast<uint8_t>(valid[i + 1]) < 0xa0;
    const bool control = byte < 0x20 || byte == 0x7f || latin;
    result += control ? '?' : valid[i];
    if (latin) ++i;
  }
  return result;
}

size_t columns(std::string_view text) {
  size_t n = 0;
  for (const char c : text) n += (static_cast<uint8_t>(c) & 0xc0) != 0x80;
  return n;
}

std::string cut_end(std::string_view text, size_t width) {
  if (columns(text) <= width) return std::string(text);
  if (width == 0) return "";
  size_t kept = 0;
  for (size_t n = 1; n < width; ++n) kept += utf8_sequence(text.substr(kept));
  return std::string(text.substr(0, kept)) + std::string(kEllipsis);
}

std::string cut_start(std::string_view text, size_t width) {
  size_t n = columns(text);
  if (n <= width) return std::string(text);
  if (width == 0) return "";
  for (; n >= width; --n) text.remove_prefix(utf8_sequence(text));
  return std::string(kEllipsis) + std::string(text);
}

std::vector<std::string> wrap(std::string_view text, size_t width) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    if (!lines.empty() && columns(lines.back()) + 1 + columns(word) <= width) {
      lines.back() += ' ';
      lines.back() += word;
    } else {
      lines.emplace_back(word);
    }
    text.remove_prefix(space == text.npos ? text.size() : space + 1);
  }
  return lines;
}

std::string cut_path(std::string_view path, size_t width) {
  if (columns(path) <= width) return std::string(path);
  for (size_t slash = path.find('/', 1); slash != path.npos; slash = path.find('/', slash + 1)) {
    const std::string_view rest = path.substr(slash);
    if (columns(rest) < width) return std::string(kEllipsis) + std::string(rest);
  }
  return cut_start(file_name(path), width);
}

std::string_view file_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

bool natural_less(std::string_view a, std::string_view b) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  // Takes a number off the text, without the zeros in front.
  const auto take_number = [&](std::string_view& text) {
    text.remove_prefix(std::min(text.find_first_not_of('0'), text.size()));
    size_t size = 0;
    while (size < text.size() && is_digit(text[size])) ++size;
    const std::string_view number = text.substr(0, size);
    text.remove_prefix(size);
    return number;
  };
  while (!a.empty() && !b.empty()) {
    if (is_digit(a.front()) && is_digit(b.front())) {
      const std::string_view first = take_number(a), second = take_number(b);
      if (first.size() != second.size()) return first.size() < second.size();
      if (first != second) return first < second;
    } else {
      if (a.front() != b.front()) return std::char_traits<char>::lt(a.front(), b.front());
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
  }
  return a.empty() && !b.empty();
}

std::string signal_name(int signal) {
  const char* const name = sigabbrev_np(signal);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

std::string ended(std::optional<int> exit_status, std::optional<int> exit_signal) {
  if (exit_signal) return "killed by " + signal_name(*exit_signal);
  if (exit_status) return fmt::format("exit status {}", *exit_status);
  return "";
}

}  // namespace sampan

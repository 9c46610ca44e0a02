// The lines of a text, and numbers in them.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace sampan::importers {

// The first line of `text`, which is then without it. Without the line's end, also that of Windows.
inline std::string_view take_line(std::string_view* text) {
  const size_t end = text->find('\n');
  std::string_view line = text->substr(0, end);
  text->remove_prefix(end == std::string_view::npos ? text->size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

inline std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// The first word of `text`, which is then without it and without the blanks around it.
inline std::string_view take_word(std::string_view* text) {
  *text = trimmed(*text);
  const std::string_view word = text->substr(0, text->find_first_of(" \t"));
  text->remove_prefix(word.size());
  *text = trimmed(*text);
  return word;
}

// Nothing unless all of the text is the number.
template <typename Number>
std::optional<Number> number_of(std::string_view text, int base = 10) {
  Number number = 0;
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number, base);
  if (text.empty() || result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return number;
}

}  // namespace sampan::importers

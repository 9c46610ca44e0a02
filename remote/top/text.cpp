#include "remote/top/text.h"

#include <langinfo.h>
#include <wchar.h>

#include <algorithm>
#include <cstdint>

#include "base/text/function_name.h"
#include "base/utf8.h"

namespace sampan::top {
namespace {

constexpr wchar_t kEllipsis = 0x2026;

bool knows_utf8() {
  return std::string_view(nl_langinfo(CODESET)) == "UTF-8";
}

// The code point of a valid sequence.
wchar_t code_point(std::string_view bytes) {
  const auto first = static_cast<uint8_t>(bytes[0]);
  if (bytes.size() == 1) return first;
  uint32_t code = first & (0x7f >> bytes.size());
  for (const char c : bytes.substr(1)) code = code << 6 | (static_cast<uint8_t>(c) & 0x3f);
  return static_cast<wchar_t>(code);
}

// Calls visit(sequence, cells) until it returns false.
template <typename Visit>
void for_each_character(std::string_view text, Visit&& visit) {
  while (!text.empty()) {
    const size_t size = std::max<size_t>(utf8_sequence(text), 1);
    const std::string_view sequence = text.substr(0, size);
    const int width = size == 1 ? 1 : wcwidth(code_point(sequence));
    if (!visit(sequence, width > 0 ? static_cast<size_t>(width) : 1)) return;
    text.remove_prefix(size);
  }
}

}  // namespace

std::string harmless(std::string_view text) {
  const std::string valid = valid_utf8(text);
  const bool utf8 = knows_utf8();
  std::string result;
  for (std::string_view rest = valid; !rest.empty();) {
    const size_t size = utf8_sequence(rest);
    const wchar_t code = code_point(rest.substr(0, size));
    const bool shown = size == 1 ? code >= 0x20 && code != 0x7f : utf8 && wcwidth(code) > 0;
    if (shown) {
      result += rest.substr(0, size);
    } else {
      result += code == kEllipsis ? '~' : '?';
    }
    rest.remove_prefix(size);
  }
  return result;
}

size_t cells(std::string_view text) {
  size_t sum = 0;
  for_each_character(text, [&](std::string_view, size_t width) {
    sum += width;
    return true;
  });
  return sum;
}

std::string fit(std::string_view text, size_t width) {
  if (const size_t all = cells(text); all <= width) {
    return std::string(text) + std::string(width - all, ' ');
  }
  if (width == 0) return "";
  std::string result;
  size_t sum = 0;
  for_each_character(text, [&](std::string_view sequence, size_t cells_of_it) {
    if (sum + cells_of_it > width - 1) return false;
    sum += cells_of_it;
    result += sequence;
    return true;
  });
  return result + (knows_utf8() ? "…" : "~") + std::string(width - 1 - sum, ' ');
}

std::string fit_right(std::string_view text, size_t width) {
  const size_t all = cells(text);
  if (all > width) return fit(text, width);
  return std::string(width - all, ' ') + std::string(text);
}

std::string last_cells(std::string_view text, size_t width) {
  while (cells(text) > width) text.remove_prefix(std::max<size_t>(utf8_sequence(text), 1));
  return std::string(text);
}

std::string fit_name(std::string_view name, size_t width) {
  const std::string clean = harmless(sampan::short_name(name));
  if (cells(clean) <= width) return clean;
  const std::string text = harmless(sampan::shorten(clean, width));
  return cells(text) <= width ? text : fit(text, width);
}

}  // namespace sampan::top

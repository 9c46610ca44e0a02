// Names in formats of lines: of a thread, a function or a file, which may hold any byte.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "base/utf8.h"

namespace sampan::exporters {

// Valid UTF-8 without a line's end.
inline std::string one_line(std::string_view name) {
  std::string text = valid_utf8(name);
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return text;
}

// The same as a frame of a stack "main;work": ':' for ';' as stackcollapse-perf.pl does.
inline std::string folded_text(std::string_view name) {
  std::string text = one_line(name);
  std::replace(text.begin(), text.end(), ';', ':');
  return text;
}

}  // namespace sampan::exporters

// A screen of text: lines in no more cells than there are, in looks that the terminal may have.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace sampan::top {

enum class Emphasis { kPlain, kTitle, kSelected, kStrong, kFaint, kWarning };

struct Piece {
  std::string text;  // harmless (text.h)
  Emphasis emphasis = Emphasis::kPlain;
};
using Line = std::vector<Piece>;

struct Picture {
  std::vector<Line> lines;
  std::optional<size_t> cursor = {};  // its cell in the last line, where something is typed
};

// The text alone, without spaces at the end.
std::string plain_text(const Line& line);

}  // namespace sampan::top

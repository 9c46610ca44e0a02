// Draws what top shows as a screen of text. Independent of a terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "remote/top/content.h"

namespace sampan::top {

// A screen of text: lines that fit the terminal's width, in styles that a terminal may support.
enum class Emphasis { kPlain, kTitle, kSelected, kStrong, kFaint, kWarning };

struct Piece {
  std::string text;  // harmless(), see text.h
  Emphasis emphasis = Emphasis::kPlain;
};
using Line = std::vector<Piece>;

struct Picture {
  std::vector<Line> lines;
  std::optional<size_t> cursor = {};  // cell in the last line, if something is being typed
};

// The text without styles and trailing spaces.
std::string plain_text(const Line& line);

// What is shown beside the rows. All strings are untrusted.
struct Status {
  std::string target;  // "redis-server (4711)"
  std::string note;    // "its output goes to /dev/null"
  uint64_t elapsed_ns = 0;
  unsigned rate_hz = 0;
  bool waits_known = false;  // captured with --clock wall
  uint64_t window_ns = 0;
  uint64_t samples = 0;
  uint64_t lost = 0;
  std::string chosen;   // such as "all threads"
  bool frozen = false;  // the picture does not change
  bool paused = false;  // sampling is paused
  std::string saving;   // the file name, while a recording is to be saved
  std::string ended;    // how the target ended; empty: it has not
  std::string message;  // in the last line
  std::string prompt;   // "Search: " while something is being typed
  std::string typed;
  bool help = false;
};

struct Size {
  size_t width = 80, height = 24;
};

// The selected row, and the first visible row.
struct Cursor {
  size_t row = 0, first = 0;
};

// The number of rows that fit.
size_t rows_shown(Size size);
// The result has exactly `size.height` lines.
Picture render(const Content& content, const Choices& choices, const Status& status, Cursor cursor,
               Size size);
// The same without a selected row and hints at keys; as many lines as there are rows, at most
// size.height.
Picture render_once(const Content& content, const Choices& choices, const Status& status,
                    Size size);

// The parts of a picture: the title line, with a mark at the column that is sorted by; one row; the
// list of keys, no line of which has more than 78 cells, and which fits on a screen of 24.
std::string titles(const Content& content, const Choices& choices, const Status& status,
                   size_t width);
std::string row_text(const Content& content, const Choices& choices, const Status& status,
                     size_t row, size_t width);
const std::vector<std::string>& help_lines();

// The same as JSON (docs/top-json.md): all threads and functions, and the open part of the tree.
std::string json(const History& history, const Choices& choices, const Status& status);

}  // namespace sampan::top

// What top shows, as a screen of text. No terminal is needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "top/choices.h"
#include "top/content.h"
#include "top/picture.h"

namespace sampan::top {

// What is said beside the rows. All texts may be anything that a program chose.
struct Status {
  std::string target;  // "redis-server (4711)"
  std::string note;    // "its output goes to /dev/null"
  uint64_t elapsed_ns = 0;
  unsigned rate_hz = 0;
  bool waits_known = false;  // captured with --clock wall
  uint64_t window_ns = 0;
  uint64_t samples = 0;
  uint64_t lost = 0;
  std::string chosen;   // "all threads"
  bool frozen = false;  // the picture
  bool paused = false;  // the sampling
  std::string saving;   // the file, while a recording is to be saved
  std::string ended;    // how the target has ended; empty: it has not
  std::string message;  // in the last line
  std::string prompt;   // "Search: ", while something is typed
  std::string typed;
  bool help = false;
};

struct Size {
  size_t width = 80, height = 24;
};

// Which row is selected, and which is the first that is shown.
struct Cursor {
  size_t row = 0, first = 0;
};

// How many rows fit.
size_t rows_shown(Size size);
// Has exactly `size.height` lines.
Picture render(const Content& content, const Choices& choices, const Status& status, Cursor cursor,
               Size size);
// The same without a selected row and what belongs to keys, with as many lines as there are rows
// to show, but no more than size.height.
Picture render_once(const Content& content, const Choices& choices, const Status& status,
                    Size size);

}  // namespace sampan::top

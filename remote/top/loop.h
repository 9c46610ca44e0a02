// top on a terminal: keys, refreshes, pictures, until the person has seen enough.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "recording/reader.h"
#include "top/refresher.h"
#include "top/screen.h"
#include "top/source.h"
#include "top/terminal.h"

namespace sampan::top {

struct LoopOptions {
  uint64_t delay_ns = 1'000'000'000;  // between refreshes
  int stop_fd = -1;                   // readable: ends it
  // Writes a recording to a file. Throws Error.
  std::function<void(const recording::Recording&, const std::string& path)> save;
  // Makes the page of a recording and opens it; where it is. Throws Error.
  std::function<std::string(recording::Recording)> open_page;
};

// Returns when the person quits, or stop_fd is readable; what is left to be said then, about a
// recording that was being saved.
std::string watch(Terminal& terminal, Source& source, History& history, Refresher& refresher,
                  Screen& screen, const LoopOptions& options);

}  // namespace sampan::top

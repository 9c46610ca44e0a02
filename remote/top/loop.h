// top's main loop on a terminal: keys, refreshes, drawing, until the user quits.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/time.h"
#include "profile/python_stacks.h"
#include "recording/reader.h"
#include "remote/top/history.h"
#include "remote/top/screen.h"
#include "remote/top/source.h"
#include "remote/top/terminal.h"

namespace sampan::top {

// Moves what a source has recorded into the history, and looks up names.
class Refresher {
 public:
  Refresher(Source& source, History& history, History::Namer namer,
            profile::PythonFrames python = profile::PythonFrames::kMixed)
      : source_(source), history_(history), namer_(std::move(namer)), python_(python) {}

  // Adds what is new. Throws Error.
  void refresh();
  // The source is over, and everything has been added.
  bool complete() const { return complete_; }

 private:
  void find_names();

  Source& source_;
  History& history_;
  History::Namer namer_;
  profile::PythonFrames python_;
  bool complete_ = false;
  MonotonicNs began_ns_ = 0;  // time of the first refresh
  uint64_t spent_ns_ = 0;     // CPU time spent on names
};

struct LoopOptions {
  uint64_t delay_ns = 1'000'000'000;  // between refreshes
  int stop_fd = -1;                   // ends the loop when it is readable
  // Writes a recording to a file. Throws Error.
  std::function<void(const recording::Recording&, const std::string& path)> save;
  // Makes the page of a recording and opens it. Returns its path. Throws Error.
  std::function<std::string(recording::Recording)> open_page;
};

// Returns when the user quits, or stop_fd is readable. The result is a final message about a
// recording that was being saved, or "".
std::string watch(Terminal& terminal, Source& source, History& history, Refresher& refresher,
                  Screen& screen, const LoopOptions& options);

}  // namespace sampan::top

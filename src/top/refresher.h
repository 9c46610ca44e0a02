// Brings what a source has recorded into the history, with names.
#pragma once

#include <cstdint>

#include "top/history.h"
#include "top/source.h"

namespace sampan::top {

class Refresher {
 public:
  Refresher(Source& source, History& history, History::Namer namer)
      : source_(source), history_(history), namer_(std::move(namer)) {}

  // Takes in what is new. Throws Error.
  void refresh();
  // The source was over when it was last asked: all there is has been taken in.
  bool complete() const { return complete_; }

 private:
  void find_names();

  Source& source_;
  History& history_;
  History::Namer namer_;
  bool complete_ = false;
  uint64_t began_ns_ = 0;  // the first refresh
  uint64_t spent_ns_ = 0;  // of CPU, on names
};

}  // namespace sampan::top

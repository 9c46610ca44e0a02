// Commands that are recorded several times, in turn or in pairs: for sampan ci.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "cli/run_options.h"
#include "cli/signals.h"
#include "reports/gate/results.h"

namespace sampan::cli {

// A command and the figures of its runs.
struct Side {
  std::vector<std::string> command;
  std::map<reports::Quantity, reports::RunValues> values;
  std::string last;  // recording
};

struct TurnOptions {
  const SamplingOptions& sampling;
  std::filesystem::path directory;  // of the recordings; each side's last one stays
  unsigned runs = 1;                // of each side
  bool notable = false;   // the first run says which figures there are, beside those asked for
  bool together = false;  // the sides of a round run at the same time, on one CPU
};

// Each side is first in every other round, so that what changes with time is the same for both.
// Throws Error if a command fails, or when a signal stops us; what runs then is ended.
void run_in_turn(std::vector<Side*> sides, const TurnOptions& options, StopSignals& stop);

}  // namespace sampan::cli

// The page in the terminal, and the same as data.
//
// The words of the page: `CPU` is what the kernel accounted, `sampled` is the CPU that samples
// carry, `coverage` is the second divided by the first. Shares are shares of the sampled CPU of the
// view. What no sample carries is unsampled, not lost; what is lost is counted by reason. A view
// with waiting samples (--clock wall) shows wall time: shares are shares of all that its threads
// lived.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "profile/flat.h"
#include "profile/view.h"

namespace sampan::reports {

enum class Sort { kSelf, kTotal, kSamples, kName, kFile };
using profile::By;

// A file that a run has left behind, and the command that opens it ("" when there is none).
struct OutputFile {
  std::string path;
  std::string viewer = {};
};

struct PageOptions {
  Sort sort = Sort::kSelf;
  By by = By::kFunction;
  unsigned top = 20;         // rows of the table; 0: all
  bool idle = false;         // threads that only wait, too
  bool tree = false;         // the call tree instead of the table
  std::string callers = {};  // instead of the table: callers of functions with this in the name
  bool full_names = false;   // of functions, however wide: else their short ones, made to fit
  unsigned width = 80;       // columns
  bool colour = false;
  std::vector<OutputFile> files = {};   // named at the end of the page
  std::vector<std::string> notes = {};  // said by others: symbolizer, exporters
};

// Throws Error when no function's name contains `callers`.
std::string page(const profile::View& view, const PageOptions& options = {});
// One object; docs/report-json.md says what is in it.
std::string json(const profile::View& view, const std::vector<std::string>& notes = {});

// The width and colour of a stream: its terminal's, or 80 columns without colour (NO_COLOR too).
PageOptions page_options_for(FILE* stream);

}  // namespace sampan::reports

// The report as a page for the terminal, and as data.
//
// Terms: `CPU` is the kernel's account, `sampled` is the CPU that samples represent, `coverage` is
// `sampled` divided by `CPU`. Shares are shares of the view's sampled CPU. CPU that no sample
// represents is unsampled, not lost; losses are counted by reason. A view with waiting samples
// (--clock wall) shows wall time: shares are shares of its threads' whole time.
#pragma once

#include <climits>
#include <cstdio>
#include <string>
#include <vector>

#include "profile/flat.h"
#include "profile/loop_steps.h"
#include "profile/view.h"

namespace sampan::reports {

enum class Sort { kSelf, kTotal, kSamples, kName, kFile };
using profile::By;

// A file that a run has written, and the command that opens it ("" if there is none).
struct OutputFile {
  std::string path;
  std::string viewer = {};
};

inline constexpr unsigned kNarrowest = 60;  // columns that a page needs
inline constexpr unsigned kUncut = UINT_MAX;

struct PageOptions {
  Sort sort = Sort::kSelf;
  By by = By::kFunction;
  unsigned top = 20;                              // rows of the table; 0: all
  bool idle = false;                              // also threads that only wait
  bool tree = false;                              // the call tree instead of the table
  bool tasks = false;                             // the tasks of event loops instead of the table
  uint64_t least_block_ns = profile::kLongBlock;  // of steps that held a loop
  std::string callers = {};  // callers of functions with this in the name, instead of the table
  std::string callees = {};  // the same: what they call
  std::string critical =
      {};  // the critical path of this thread, span or section, instead of the table
  bool full_names = false;  // of functions; else short names that are made to fit
  unsigned width = 80;      // columns; kUncut: of tables, as many as their cells need
  bool colour = false;
  std::string recording = {};           // as commands name it; "": the latest
  std::vector<OutputFile> files = {};   // named at the end of the page
  std::vector<std::string> notes = {};  // from the symbolizer and the exporters

  unsigned text_width() const { return width == kUncut ? 80 : width; }  // of sentences
};

// Throws Error when no function's name contains `callers`, or `callees`, and as critical_path() does.
std::string page(const profile::View& view, const PageOptions& options = {});
// The essence on one screen; `options` say its width, at most 100 columns, and which recording it is.
std::string summary(const profile::View& view, PageOptions options = {});
// One object, see docs/report-json.md; `options` say its notes, `least_block_ns` and `critical`.
std::string json(const profile::View& view, const PageOptions& options = {});

// The width and colour of a stream. A terminal's width is COLUMNS, else what the kernel says; what
// is no terminal is not cut, and has no colour. NO_COLOR is obeyed.
PageOptions page_options_for(FILE* stream);

}  // namespace sampan::reports

// The page in the terminal, and the same as data.
#pragma once

#include <cstdio>
#include <string>

#include "profile/view.h"

namespace sampan::reports {

enum class Sort { kSelf, kTotal, kSamples, kName, kFile };
enum class By { kFunction, kLine, kFile, kModule, kThread, kProcess };

struct PageOptions {
  Sort sort = Sort::kSelf;
  By by = By::kFunction;
  unsigned top = 20;
  bool tree = false;
  std::string callers;  // of functions whose name contains this
  unsigned width = 80;  // columns
  bool colour = false;
};

std::string page(const profile::View& view, const PageOptions& options = {});
// One object; docs/report-json.md says what is in it.
std::string json(const profile::View& view);

// The width and colour of a stream: its terminal's, or 80 columns without colour (NO_COLOR too).
PageOptions page_options_for(FILE* stream);

}  // namespace sampan::reports

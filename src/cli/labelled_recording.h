// Several recordings on a command line, each under a name of its own: "LABEL=PATH", or a path,
// whose label is then its directory's name, or its file's.
#pragma once

#include <string>
#include <vector>

#include "recording/merge.h"

namespace sampan::cli {

struct LabelledPath {
  std::string label;
  std::string path;  // of the file
};

// Equal labels get "-2", "-3" behind them.
std::vector<LabelledPath> labelled_paths(const std::vector<std::string>& words);

// Reads it; what is damaged is said on stderr. Throws Error.
recording::MergeInput read_labelled(const LabelledPath& from);

}  // namespace sampan::cli

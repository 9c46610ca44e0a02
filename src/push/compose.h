// From a recording to what is pushed: names are found, and the format of the store is written.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "push/destination.h"
#include "push/labels.h"
#include "push/piece.h"
#include "recording/reader.h"
#include "symbolizer/symbolizer.h"

namespace sampan::push {

struct Composed {
  std::optional<Piece> piece;      // nothing: the recording has no samples
  std::vector<std::string> notes;  // what a person should know
};

// `labels` come before what the recording says of itself (service.name, host.name). `scratch`: a
// path for a file that is gone afterwards. Throws Error, and what names.progress throws.
Composed compose(recording::Recording recording, Labels labels, Format format,
                 const symbolizer::Options& names, const std::string& scratch);

}  // namespace sampan::push

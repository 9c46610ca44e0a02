// The source or the instructions of a function with the time of each line: for the terminal and as
// data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "profile/annotate.h"
#include "reports/report.h"

namespace sampan::reports {

using profile::CodeRow;
using profile::Source;

struct Annotated {
  const profile::View& view;
  const profile::Annotation& annotation;
  std::vector<Source> sources;
  std::optional<std::vector<CodeRow>> code;  // if instructions were asked for
  std::vector<std::string> notes;
};

// `options`: width, colour.
std::string annotation_page(const Annotated& annotated, const PageOptions& options);
// One object, see docs/annotate-json.md.
std::string annotation_json(const Annotated& annotated);

}  // namespace sampan::reports

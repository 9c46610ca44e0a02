// The source, or the instructions, of a function with the time that was spent on each line: for the
// terminal, and as data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "profile/annotate.h"
#include "reports/report.h"

namespace sampan::reports {

// A source file that has lines of the function.
struct Source {
  uint32_t file = 0;                    // string: its path as the program was built
  std::string path = {};                // where it was found; "": it was not
  std::vector<std::string> lines = {};  // all of it
};

struct CodeRow {
  uint32_t module = profile::kNone;
  uint64_t address = 0;  // SVMA
  std::string text;
  uint32_t file = 0, line = 0;  // of the function's code it was compiled from; 0 unknown
  profile::Weight self = {}, total = {};
};

struct Annotated {
  const profile::View& view;
  const profile::Annotation& annotation;
  std::vector<Source> sources;
  std::optional<std::vector<CodeRow>> code;  // where instructions were asked for
  std::vector<std::string> notes;
};

// `options`: width, colour.
std::string annotation_page(const Annotated& annotated, const PageOptions& options);
// One object; docs/annotate-json.md says what is in it.
std::string annotation_json(const Annotated& annotated);

}  // namespace sampan::reports

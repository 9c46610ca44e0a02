// The sources and instructions of hot functions in profile.html: a third text of the page's data.
//
//   {"files": [{"file": PATH, "pieces": [{"first": LINE, "lines": [TEXT, …]}, …]}, …],
//    "functions": [{"name", "module", "file", "line",
//                   "code": [[ADDRESS, TEXT, FILE, LINE, SELF_NS, SAMPLES], …]}, …]}
//
// FILE is a place in "files", -1 unknown. A file has only the lines around what was sampled. The
// instructions' times are of the whole view; the page computes those of lines itself.
#pragma once

#include <string>
#include <vector>

#include "profile/annotate.h"
#include "profile/view.h"

namespace sampan::exporters {

struct PageSource {
  profile::Annotation annotation;
  std::vector<profile::Source> sources;
  std::vector<profile::CodeRow> code;
};

std::string page_sources(const profile::View& view, const std::vector<PageSource>& functions);

}  // namespace sampan::exporters

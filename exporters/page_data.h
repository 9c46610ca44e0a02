// The data of a view in profile.html, see exporters/page/data/profile.js: texts for elements
// of the page, each a zlib stream (RFC 1950) in base64.
//
//   header   JSON: figures, strings, modules, processes, threads, and which columns there are
//   columns  functions, stacks, samples, markers, one after the other (page_parts.h)
//
// and, with --with-source, the text of page_sources().
//
// The page has only what the view has, with handles of its own.
//
// The page of a recording that also has the heap or locks has several such data, one for each type of
// samples: "cpu" (with what waited), "live" and "allocated" (the heap), "locks". Their threads and
// processes are the same, and only the first has the markers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "exporters/exporter.h"
#include "profile/annotate.h"
#include "profile/view.h"

namespace sampan::exporters {

// Which samples a page has, and which of them some data are of.
struct PageSamples {
  std::string_view shown = "cpu", first = "cpu";
  std::vector<std::string_view> all = {"cpu"};
  bool waits = false;  // those of "cpu" have some that wait
};

struct PageData {
  std::string type;
  std::string header;
  std::string columns;
  std::vector<std::string> notes;  // what was merged to stay within max_size
};

// `max_size`: bytes of both texts; 0: any number.
PageData page_data(const profile::View& view, uint64_t max_size, const PageSamples& samples = {});

// The data of all types, what the view shows first; others are of the same threads and time. Together
// `max_size` at most. A view of one trace, or of a comparison, has no others.
std::vector<PageData> all_page_data(const profile::View& view, uint64_t max_size);

// A text of the page: a zlib stream in base64.
std::string page_text(std::string_view bytes);

struct PageSource {
  profile::Annotation annotation;
  std::vector<profile::Source> sources;
  std::vector<profile::CodeRow> code;
};

// The sources and instructions of hot functions: the page's third text.
//
//   {"files": [{"file": PATH, "pieces": [{"first": LINE, "lines": [TEXT, …]}, …]}, …],
//    "functions": [{"name", "module", "file", "line",
//                   "code": [[ADDRESS, TEXT, FILE, LINE, SELF_NS, SAMPLES], …]}, …]}
//
// FILE is a place in "files", -1 unknown. A file has only the lines around what was sampled. The
// instructions' times are of the whole view; the page computes those of lines itself.
std::string page_sources(const profile::View& view, const std::vector<PageSource>& functions);

struct PageOptions {
  bool is_live = false;      // it is served, and fetches newer data (exporters/page/live.js)
  std::string sources = {};  // of page_sources(); "": none
};

// Writes `path`: complete or absent. Throws Error. `max_size`: bytes; 0: any number.
Outcome write_page(const profile::View& view, const std::string& path, uint64_t max_size,
                   const PageOptions& options = {});

// The text of the page without data: exporters/page, which the build joins into one text.
extern const std::string_view kPageBeforeData;
extern const std::string_view kPageAfterData;

}  // namespace sampan::exporters

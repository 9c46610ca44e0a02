// How long the spans of a program took, and what its threads did inside them: for the terminal, as
// CSV, and as data.
#pragma once

#include <string>
#include <vector>

#include "profile/span_explain.h"
#include "profile/span_table.h"
#include "profile/span_time.h"
#include "reports/report.h"

namespace sampan::reports {

struct SpanReport {
  const profile::View& view;
  profile::SpanTable table = {};
  bool tree = false;                          // the table is span_tree()'s
  std::vector<profile::SpanTime> times = {};  // by row; empty: not asked for

  bool has_times() const { return !times.empty(); }
  // "2 were open when their thread ended, ...": a sentence for each thing to know of the figures.
  std::vector<std::string> notes() const;
};

// `options`: top, width, colour, notes.
std::string spans_page(const SpanReport& report, const PageOptions& options);
// A header and a line per row; docs/spans-json.md says what the columns are.
std::string spans_csv(const SpanReport& report);
// One object; docs/spans-json.md says what is in it.
std::string spans_json(const SpanReport& report, const std::vector<std::string>& notes = {});

// What the slowest spans of a name do differently.
std::string explanation_page(const profile::View& view, const profile::SpanExplanation& explanation,
                             const PageOptions& options);
// One object; docs/spans-json.md says what is in it.
std::string explanation_json(const profile::View& view, const profile::SpanExplanation& explanation,
                             const std::vector<std::string>& notes = {});

}  // namespace sampan::reports

// The durations of a program's spans, and what its threads did in them: for the terminal, as CSV
// and as data.
#pragma once

#include <string>
#include <vector>

#include "profile/span_explain.h"
#include "profile/span_table.h"
#include "reports/report.h"

namespace sampan::reports {

struct SpanReport {
  const profile::View& view;
  profile::SpanTable table = {};
  bool tree = false;                          // the table is from span_tree()
  std::vector<profile::SpanTime> times = {};  // by row; empty: not asked for

  bool has_times() const { return !times.empty(); }
  // "2 were open when their thread ended, ...": remarks on the figures.
  std::vector<std::string> notes() const;
};

// `options`: top, width, colour, notes.
std::string spans_page(const SpanReport& report, const PageOptions& options);
// A header and a line per row, see docs/spans-json.md.
std::string spans_csv(const SpanReport& report);
// One object, see docs/spans-json.md.
std::string spans_json(const SpanReport& report, const std::vector<std::string>& notes = {});

// What the slowest spans of a name do differently from the others.
std::string explanation_page(const profile::View& view, const profile::SpanExplanation& explanation,
                             const PageOptions& options);
// One object, see docs/spans-json.md.
std::string explanation_json(const profile::View& view, const profile::SpanExplanation& explanation,
                             const std::vector<std::string>& notes = {});

}  // namespace sampan::reports

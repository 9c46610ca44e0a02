// The verdicts of a gate, for people and for what reads them: a table, Markdown, JUnit's XML, and annotations of GitHub.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/gate/judge.h"
#include "reports/report.h"

namespace sampan::reports {

struct GateRow {
  Budget budget;
  std::optional<Estimate> value;   // absent: no run has it
  std::optional<Estimate> growth;  // absent: there is nothing to compare with
  Verdict verdict = Verdict::kUnknown;
  std::string why = {};  // for other verdicts than kHeld: a sentence
};

struct GateResults {
  std::vector<std::string> command;
  std::vector<std::string> differences;  // of the environments
  std::vector<GateRow> rows;
  uint64_t runs = 0;

  Verdict verdict() const;  // the worst: broken, then unknown
};

// The values of one figure, a run each; absent: the run has no such function, thread or span.
struct RunValues {
  std::vector<std::optional<double>> values;
  double resolution = 0;  // of one value, see judge.h

  // The values of the runs that have one. A function or a thread without CPU in a run has none of it: 0.
  std::vector<double> known(Subject subject) const;
};

struct GateValues {
  RunValues now;
  RunValues before = {};                // of runs in turn, as many as `now`; empty: there are none
  std::optional<Series> baseline = {};  // of a file
};

// How many verdicts the budgets ask for.
size_t verdicts_of(const std::vector<Budget>& budgets);
GateRow judge(const Budget& budget, const GateValues& values, size_t verdicts);

std::string gate_page(const GateResults& results, const PageOptions& options);
std::string gate_markdown(const GateResults& results);
std::string gate_junit(const GateResults& results);
// Workflow commands: lines for the standard output of a step.
std::string gate_annotations(const GateResults& results);

}  // namespace sampan::reports

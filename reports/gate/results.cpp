#include "reports/gate/results.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/text/readable.h"
#include "reports/table.h"

namespace sampan::reports {
namespace {

constexpr double kPercent = 100;

std::string_view text_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kHeld: return "held";
    case Verdict::kBroken: return "BROKEN";
    case Verdict::kUnknown: break;
  }
  return "unknown";
}

std::string title_of(const Quantity& quantity) {
  return printable(quantity.name.empty() ? fmt::format("program: {}", word_of(quantity.figure))
                                         : fmt::format("{} {}: {}", word_of(quantity.subject),
                                                       quantity.name, word_of(quantity.figure)));
}

std::string value_cell(const GateRow& row) {
  if (!row.value) return "-";
  return value_text(row.budget.quantity.figure, row.value->value, margin_of(*row.value));
}

std::string growth_cell(const GateRow& row) {
  if (!row.growth) return "-";
  return fmt::format("{:+.1f} ± {:.1f} %", kPercent * row.growth->value,
                     kPercent * margin_of(*row.growth));
}

std::string limit_cell(const Budget& budget) {
  std::string limit;
  if (budget.max) limit = value_text(budget.quantity.figure, *budget.max);
  if (budget.max_growth) {
    limit += fmt::format("{}+{:.4g} %", limit.empty() ? "" : ", ", kPercent * *budget.max_growth);
  }
  return limit;
}

std::string sentence(const GateResults& results) {
  const auto count_of = [&](Verdict verdict) {
    return std::ranges::count(results.rows, verdict, &GateRow::verdict);
  };
  return fmt::format("{} of {}: {} held, {} broken, {} unknown",
                     plural(results.rows.size(), "budget"), plural(results.runs, "run"),
                     count_of(Verdict::kHeld), count_of(Verdict::kBroken),
                     count_of(Verdict::kUnknown));
}

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : " ") + word;
  return all;
}

std::string xml(std::string_view text) {
  std::string escaped;
  for (const char c : printable(text)) {
    switch (c) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      default: escaped += c;
    }
  }
  return escaped;
}

// A cell of a table, whatever the name of a function.
std::string markdown(std::string_view text) {
  std::string escaped;
  for (const char c : xml(text)) {
    if (std::string_view("\\`*_|[]#").find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

// https://docs.github.com/actions: "%", and line breaks, of which a printable text has none.
std::string workflow_text(std::string_view text) {
  std::string escaped;
  for (const char c : printable(text)) escaped += c == '%' ? std::string("%25") : std::string(1, c);
  return escaped;
}

}  // namespace

Verdict GateResults::verdict() const {
  const auto has = [&](Verdict verdict) {
    return std::ranges::find(rows, verdict, &GateRow::verdict) != rows.end();
  };
  if (has(Verdict::kBroken)) return Verdict::kBroken;
  return has(Verdict::kUnknown) ? Verdict::kUnknown : Verdict::kHeld;
}

std::vector<double> RunValues::known(Subject subject) const {
  const bool some =
      std::ranges::any_of(values, [](const auto& value) { return value.has_value(); });
  std::vector<double> result;
  for (const std::optional<double>& value : values) {
    if (value || (some && (subject == Subject::kFunction || subject == Subject::kThread)))
      result.push_back(value.value_or(0));
  }
  return result;
}

size_t verdicts_of(const std::vector<Budget>& budgets) {
  size_t verdicts = 0;
  for (const Budget& budget : budgets) {
    verdicts += budget.max.has_value() + budget.max_growth.has_value();
  }
  return verdicts;
}

GateRow judge(const Budget& budget, const GateValues& values, size_t verdicts) {
  GateRow row{.budget = budget, .value = {}, .growth = {}};
  const Subject subject = budget.quantity.subject;
  const std::vector<double> now_values = values.now.known(subject),
                            before_values = values.before.known(subject);
  if (now_values.empty()) {
    row.why = budget.quantity.figure == Figure::kInstructions
                  ? "instructions were not counted: `sampan run --instructions` says why"
                  : "no run has it: is the name right?";
    return row;
  }
  if (now_values.size() < values.now.values.size()) {
    row.why = fmt::format("only {} of {} have it", now_values.size(),
                          plural(values.now.values.size(), "run"));
    return row;
  }
  const Series now = series_of(now_values, values.now.resolution);
  row.value = mean_of(now);
  row.verdict = Verdict::kHeld;
  const auto conclude = [&row](const Judgement& judgement, const std::string& broken) {
    if (judgement.verdict == Verdict::kBroken) {
      row.why = (row.verdict == Verdict::kBroken ? row.why + "; " : "") + broken;
      row.verdict = Verdict::kBroken;
    } else if (judgement.verdict == Verdict::kUnknown && row.verdict == Verdict::kHeld) {
      row.verdict = Verdict::kUnknown;
      row.why = judgement.runs_needed == 0
                    ? "the runs differ too much to tell, however many there are"
                    : fmt::format("the runs differ too much to tell: {} would be enough",
                                  plural(judgement.runs_needed, "run"));
    }
  };
  const Figure figure = budget.quantity.figure;
  const double false_alarm =
      (1 - budget.confidence) / static_cast<double>(std::max<size_t>(verdicts, 1));
  if (budget.max) {
    conclude(judge_maximum(*row.value, *budget.max, false_alarm),
             fmt::format("{} is more than {}", value_text(figure, row.value->value),
                         value_text(figure, *budget.max)));
  }
  if (!budget.max_growth) return row;
  const bool in_turn = before_values.size() == now_values.size();
  const Series before = in_turn ? series_of(before_values) : values.baseline.value_or(Series());
  if (before.runs == 0 || before.mean <= 0) {
    if (row.verdict == Verdict::kHeld) {
      row.verdict = Verdict::kUnknown;
      row.why = "there is nothing to compare with: the baseline has none of it";
    }
    return row;
  }
  row.growth = in_turn ? paired_growth(before_values, now_values,
                                       std::max(values.before.resolution, values.now.resolution))
                       : growth_of(before, now);
  conclude(judge_growth(*row.growth, *budget.max_growth, false_alarm),
           fmt::format("it grew by {:.1f} %, from {} to {}", kPercent * row.growth->value,
                       value_text(figure, before.mean), value_text(figure, now.mean)));
  return row;
}

std::string gate_page(const GateResults& results, const PageOptions& options) {
  const Style style(options.colour);
  std::string text = style.heading(printable(joined(results.command))) + "\n";
  for (const std::string& difference : results.differences) {
    for (const std::string& line :
         wrap("note: " + printable(difference), options.text_width() - 2)) {
      text += "  " + style.warning(line) + "\n";
    }
  }
  constexpr size_t kLeastName = 16, kLeastWhy = 24;
  Table table({{.title = "budget", .left = true, .minimum = kLeastName},
               {.title = "now"},
               {.title = "growth"},
               {.title = "limit"},
               {.title = "verdict", .left = true},
               {.title = "", .left = true, .minimum = kLeastWhy}});
  for (const GateRow& row : results.rows) {
    table.add({title_of(row.budget.quantity), value_cell(row), growth_cell(row),
               limit_cell(row.budget), std::string(text_of(row.verdict)), row.why},
              row.verdict == Verdict::kBroken);
  }
  return text + table.text(options.width, style) + sentence(results) + "\n";
}

std::string gate_markdown(const GateResults& results) {
  std::string text = fmt::format("**sampan ci**: {}\n\n", markdown(joined(results.command)));
  for (const std::string& difference : results.differences) {
    text += fmt::format("- {}\n", markdown(difference));
  }
  text += results.differences.empty() ? "" : "\n";
  text += "| budget | now | growth | limit | verdict | |\n|---|---:|---:|---:|---|---|\n";
  for (const GateRow& row : results.rows) {
    text += fmt::format("| {} | {} | {} | {} | {} | {} |\n",
                        markdown(title_of(row.budget.quantity)), value_cell(row), growth_cell(row),
                        limit_cell(row.budget), text_of(row.verdict), markdown(row.why));
  }
  return text + "\n" + sentence(results) + "\n";
}

// The form that CI systems read (https://github.com/testmoapp/junitxml): a suite, a case for each budget.
std::string gate_junit(const GateResults& results) {
  const auto count_of = [&](Verdict verdict) {
    return std::ranges::count(results.rows, verdict, &GateRow::verdict);
  };
  std::string text = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuite name=\"sampan ci\" tests=\"{}\" failures=\"{}\" errors=\"{}\">\n",
      results.rows.size(), count_of(Verdict::kBroken), count_of(Verdict::kUnknown));
  for (const GateRow& row : results.rows) {
    text += fmt::format("  <testcase classname=\"sampan.budget\" name=\"{}\">\n",
                        xml(title_of(row.budget.quantity)));
    if (row.verdict != Verdict::kHeld) {
      text += fmt::format("    <{} message=\"{}\"/>\n",
                          row.verdict == Verdict::kBroken ? "failure" : "error", xml(row.why));
    }
    text += fmt::format("    <system-out>now {}, growth {}, limit {}</system-out>\n  </testcase>\n",
                        xml(value_cell(row)), xml(growth_cell(row)), xml(limit_cell(row.budget)));
  }
  return text + "</testsuite>\n";
}

std::string gate_annotations(const GateResults& results) {
  std::string text;
  for (const GateRow& row : results.rows) {
    if (row.verdict == Verdict::kHeld) continue;
    text += fmt::format("::{} title=sampan ci::{}: {}\n",
                        row.verdict == Verdict::kBroken ? "error" : "warning",
                        workflow_text(title_of(row.budget.quantity)), workflow_text(row.why));
  }
  return text;
}

}  // namespace sampan::reports

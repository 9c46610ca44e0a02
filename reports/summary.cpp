// sampan report --summary: what to know first, short enough to be read at once by a person or by the language model of an
// agent. Every share has its sampling error, and the end says what to ask next.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text/readable.h"
#include "profile/flat.h"
#include "profile/frames.h"
#include "profile/function_kinds.h"
#include "profile/function_shares.h"
#include "profile/statistics.h"
#include "profile/unresolved.h"
#include "profile/weights.h"
#include "reports/sections.h"
#include "reports/table.h"

namespace sampan::reports {
namespace {

using profile::FlatRow;

// With the end, 2,000 tokens of a language model: tables of numbers and names have 2.6 bytes for each.
constexpr size_t kLongest = 4000;
// A command has the first part of a longer name: it looks for a part of names.
constexpr size_t kLongestName = 60;
constexpr unsigned kWidth = 100;
constexpr size_t kShownSelf = 8, kShownTotal = 6;
// The second table leaves out functions of nearly all stacks, such as main(), and of hardly any.
constexpr double kNearlyAll = 0.95, kHardlyAny = 0.05;
// A caller whose callee has as much of its time is of one chain with it.
constexpr double kChainShare = 0.8;
constexpr double kConfidence = 0.95;
constexpr uint64_t kFewSamples = 200;  // a share of 50 % is then known within 7 points
constexpr double kMuchUnnamed = 0.05;

double share_of(const Context& context, uint64_t ns) {
  return static_cast<double>(ns) / static_cast<double>(context.summary.total().ns);
}

// Most self time first; of functions alone.
std::vector<FlatRow> most_self(const std::vector<FlatRow>& rows) {
  std::vector<FlatRow> chosen;
  for (const FlatRow& row : rows) {
    if (chosen.size() == kShownSelf) break;
    if (row.function != profile::kNone && row.self.samples != 0) chosen.push_back(row);
  }
  return chosen;
}

// The functions that take part in much of the time, one for each chain of calls.
class Chains {
 public:
  Chains(const Context& context, std::vector<FlatRow> rows)
      : context_(context), kinds_(function_kinds(context.profile())), rows_(std::move(rows)) {
    std::erase_if(rows_, [&](const FlatRow& row) {
      const double share = share_of(context, row.total.ns);
      return row.function == profile::kNone || share < kHardlyAny || share > kNearlyAll;
    });
    std::ranges::stable_sort(rows_, std::ranges::greater(),
                             [](const FlatRow& row) { return row.total.ns; });
    std::vector<profile::WeightedStack> stacks = by_stack(context.view);
    std::ranges::stable_sort(stacks, std::ranges::greater(),
                             [](const profile::WeightedStack& row) { return row.weight.ns; });
    for (const profile::WeightedStack& row : stacks) {
      leaf_to_root(context.profile(), row.stack, &frames_);
      for (const profile::Frame& frame : frames_) stack_.try_emplace(frame.function, row.stack);
    }
  }

  // Most total time first.
  std::vector<FlatRow> functions() {
    std::vector<FlatRow> chosen;
    std::vector<bool> taken(rows_.size());
    for (size_t first = 0; first < rows_.size(); ++first) {
      if (taken[first]) continue;
      chosen.push_back(rows_[first]);
      for (size_t i = first + 1; i < rows_.size(); ++i) {
        if (taken[i] || !are_of_one_chain(rows_[first], rows_[i])) continue;
        taken[i] = true;
        if (says_more(rows_[i], chosen.back())) chosen.back() = rows_[i];
      }
    }
    return chosen;
  }

 private:
  // One calls the other, directly or not, and has nearly all of its time. `smaller` has no more.
  bool are_of_one_chain(const FlatRow& larger, const FlatRow& smaller) {
    return static_cast<double>(smaller.total.ns) >=
               kChainShare * static_cast<double>(larger.total.ns) &&
           (calls(larger, smaller) || calls(smaller, larger));
  }

  bool calls(const FlatRow& caller, const FlatRow& callee) {
    leaf_to_root(context_.profile(), stack_.at(callee.function), &frames_);
    const auto end = std::ranges::find(frames_, callee.function, &profile::Frame::function);
    return std::ranges::find(end, frames_.end(), caller.function, &profile::Frame::function) !=
           frames_.end();
  }

  // The program's own functions say more than those that start it; of these the innermost.
  bool says_more(const FlatRow& row, const FlatRow& than) {
    const auto rank = [&](const FlatRow& of) {
      const bool is_python = kinds_[of.function] == profile::FunctionKind::kPython;
      return is_python ? 2 : of.line != 0 ? 1 : 0;
    };
    return rank(row) > rank(than) || (rank(row) == rank(than) && calls(than, row));
  }

  const Context& context_;
  const std::vector<profile::FunctionKind> kinds_;
  std::vector<FlatRow> rows_;
  std::unordered_map<uint32_t, uint32_t> stack_;  // by function: the heaviest one with it
  std::vector<profile::Frame> frames_;
};

std::vector<FlatRow> most_total(const Context& context, const std::vector<FlatRow>& rows,
                                const std::vector<FlatRow>& without) {
  std::vector<FlatRow> chosen = Chains(context, rows).functions();
  std::erase_if(chosen, [&](const FlatRow& row) {
    return std::ranges::find(without, row.function, &FlatRow::function) != without.end();
  });
  chosen.resize(std::min(chosen.size(), kShownTotal));
  return chosen;
}

// "32.9 ± 5.8" for each.
std::vector<std::string> share_cells(const Context& context, const std::vector<FlatRow>& rows,
                                     profile::ShareOf of) {
  std::vector<uint32_t> functions;
  for (const FlatRow& row : rows) functions.push_back(row.function);
  profile::StackFunctions stacks(context.profile(), of);
  const double z = profile::two_sided_quantile(1 - kConfidence);
  std::vector<std::string> cells;
  for (const auto& [share, variance] : function_shares(context.view, stacks, functions)) {
    cells.push_back(fmt::format("{:.1f} ± {:.1f}", 100 * share, 100 * z * std::sqrt(variance)));
  }
  return cells;
}

std::string shares_table(const Context& context, std::string_view title,
                         const std::vector<FlatRow>& rows) {
  if (rows.empty()) return "";
  const std::vector<std::string> self = share_cells(context, rows, profile::ShareOf::kSelf);
  const std::vector<std::string> total = share_cells(context, rows, profile::ShareOf::kTotal);
  Table table({{.title = "self %"},
               {.title = "total %"},
               function_column(context.options),
               {.title = "file:line", .left = true, .minimum = 11, .cut = cut_path},
               {.title = "module", .left = true, .minimum = 8}});
  for (size_t i = 0; i < rows.size(); ++i) {
    const std::string file = printable(context.profile().strings[rows[i].file]);
    const std::string place =
        file.empty() || rows[i].line == 0 ? file : fmt::format("{}:{}", file, rows[i].line);
    table.add({self[i], total[i],
               function_cell(context.profile(), rows[i].function, context.options), place,
               function_module_cell(context.profile(), rows[i].function)});
  }
  return context.style.heading(title) + "\n" + table.text(context.options.width, context.style);
}

// The name, or its first part, as a word of the shell.
std::string shell_word(std::string_view name) {
  if (name.size() > kLongestName) {
    size_t end = kLongestName;
    while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xc0) == 0x80)
      --end;  // within a character
    name = name.substr(0, end);
  }
  std::string text = "'";
  for (const char c : name) c == '\'' ? text += "'\\''" : text += c;
  return text + "'";
}

// The part of the CPU in functions without a name, 0 to 1.
double unnamed_share(const Context& context) {
  uint64_t ns = 0;
  for (const profile::Unresolved& module : unresolved_by_module(context.profile()))
    ns += module.unnamed_ns;
  return context.summary.sampled.ns == 0
             ? 0
             : static_cast<double>(ns) / static_cast<double>(context.summary.sampled.ns);
}

struct Question {
  std::string command, answer;
};

std::vector<Question> questions(const Context& context, const std::vector<FlatRow>& self) {
  const std::string recording =
      context.options.recording.empty() ? "" : " " + context.options.recording;
  std::vector<Question> all;
  const auto ask = [&](std::string_view command, std::string answer) {
    all.push_back({"sampan " + std::string(command) + recording, std::move(answer)});
  };
  const profile::Unit unit = context.unit();
  if (context.summary.total().samples < kFewSamples && !context.profile().session.is_imported()) {
    ask("run --rate 1k", "record longer or at a higher rate: the samples are few");
    all.back().command.resize(all.back().command.size() - recording.size());
  }
  const double unnamed = unnamed_share(context);
  if (unnamed > kMuchUnnamed) {
    ask("doctor", fmt::format("{:.0f} % of the {} is in functions without a name: what to install",
                              100 * unnamed, unit.is_time() ? "CPU" : "weight"));
  }
  if (!self.empty()) {
    const std::string name =
        shell_word(printable(profile::function_name(context.profile(), self.front().function)));
    ask("report --callers " + name, "who calls the first one");
    if (self.front().line != 0)
      ask("annotate " + name, fmt::format("the {} of each of its lines", unit.what()));
  }
  ask("report --tree", "the call tree");
  if (context.summary.threads.size() > 1) ask("report --by thread", "each thread's share");
  return all;
}

std::string next_section(const Context& context, const std::vector<FlatRow>& self) {
  std::string text = context.style.heading("Next") + "\n";
  for (const auto& [command, answer] : questions(context, self)) {
    text += fmt::format("  {}\n      {}\n", command, context.style.faint(answer));
  }
  return text;
}

std::string bounded(std::string text) {
  if (text.size() <= kLongest) return text;
  const size_t line = text.rfind('\n', kLongest);
  return text.substr(0, line + 1) + "… cut: sampan report shows all\n";
}

}  // namespace

std::string summary(const profile::View& view, PageOptions options) {
  options.width = std::min(options.width, kWidth);
  const profile::Summary all = profile::summarize(view);
  const Context whole{view, all, options, Style(options.colour)};
  // As the tables of the page do, unless threads wait in all of it.
  const profile::View busy = hide_idle(whole) ? profile::busy_part(view, all) : view;
  const profile::Summary sums = profile::summarize(busy);
  const Context context{busy, sums, options, whole.style};
  std::vector<FlatRow> self, total;
  if (sums.total().ns != 0) {
    const std::vector<FlatRow> rows = flat_table(busy);
    self = most_self(rows);
    total = most_total(context, rows, self);
  }
  const std::string end = next_section(context, self);
  const std::string what(context.unit().what());
  std::string text;
  for (const std::string& section :
       {heading(whole),
        shares_table(context, fmt::format("Functions, most self {} first (95 % intervals)", what),
                     self),
        shares_table(
            context,
            fmt::format("Functions, most total {} first (one of each chain of calls)", what),
            total),
        waits_section(whole), threads_section(whole), also_recorded_section(whole)}) {
    if (!text.empty() && !section.empty()) text += '\n';
    text += section;
  }
  return bounded(std::move(text)) + "\n" + end;
}

}  // namespace sampan::reports

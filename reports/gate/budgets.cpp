#include "reports/gate/budgets.h"

#define TOML_HEADER_ONLY 1
#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/nearest.h"
#include "base/text/quantity.h"
#include "base/units.h"

namespace sampan::reports {
namespace {

constexpr int64_t kMostRuns = 1000;
constexpr double kLargestShare = 1e6;  // percent
constexpr double kLeastConfidence = 0.9, kMostConfidence = 0.999999;

class BudgetsReader {
 public:
  explicit BudgetsReader(std::string path) : path_(std::move(path)) {}

  Budgets read(const std::string& text) const {
    toml::table table;
    try {
      table = toml::parse(text, path_);
    } catch (const toml::parse_error& error) {
      throw Error("{}:{}: {}", path_, error.source().begin.line, error.description());
    }
    check_keys(table, {"runs", "budget"});
    Budgets result;
    if (const toml::node* const runs = table.get("runs")) {
      const auto number = runs->value<int64_t>();
      if (!runs->is_integer() || *number < 2 || *number > kMostRuns) {
        fail(*runs, fmt::format("runs is a whole number from 2 to {}", kMostRuns));
      }
      result.runs = static_cast<unsigned>(*number);
    }
    const toml::array* const budgets = table["budget"].as_array();
    if (budgets == nullptr || budgets->empty()) {
      throw Error("{}: there are no budgets: write one as [[budget]]", path_);
    }
    for (const toml::node& budget : *budgets) {
      if (!budget.is_table()) fail(budget, "a budget is a table: [[budget]]");
      result.budgets.push_back(read_budget(*budget.as_table()));
    }
    return result;
  }

 private:
  [[noreturn]] void fail(const toml::node& at, std::string_view what) const {
    throw Error("{}:{}: {}", path_, at.source().begin.line, what);
  }

  void check_keys(const toml::table& table, const std::vector<std::string>& known) const {
    for (const auto& [key, value] : table) {
      const std::string name(key.str());
      if (std::ranges::find(known, name) == known.end()) {
        fail(value, fmt::format("unknown key {}{}", name, did_you_mean(name, known)));
      }
    }
  }

  Budget read_budget(const toml::table& table) const {
    check_keys(table, {"function", "span", "thread", "figure", "max", "max-growth", "confidence"});
    Budget budget{.quantity = read_quantity(table)};
    if (const toml::node* const max = table.get("max")) {
      budget.max = is_share(budget.quantity.figure)                  ? share(*max)
                   : budget.quantity.figure == Figure::kInstructions ? number(*max)
                                                                     : time(*max);
    }
    if (const toml::node* const growth = table.get("max-growth")) {
      budget.max_growth = share(*growth);
      if (*budget.max_growth <= 0) fail(*growth, "max-growth must be more than 0 %");
    }
    if (const toml::node* const confidence = table.get("confidence")) {
      budget.confidence = share(*confidence);
      if (budget.confidence < kLeastConfidence || budget.confidence > kMostConfidence) {
        fail(*confidence, "confidence is from 90 % to 99.9999 %");
      }
    }
    if (!budget.max && !budget.max_growth) fail(table, "a budget needs max, max-growth or both");
    return budget;
  }

  Quantity read_quantity(const toml::table& table) const {
    Quantity quantity;
    for (const Subject subject : {Subject::kFunction, Subject::kSpan, Subject::kThread}) {
      const toml::node* const name = table.get(word_of(subject));
      if (name == nullptr) continue;
      if (!quantity.name.empty()) fail(*name, "a budget has one of function, span and thread");
      quantity = {subject, subject == Subject::kSpan ? Figure::kP50 : Figure::kCpu, text(*name)};
      if (quantity.name.empty()) fail(*name, "a name is wanted");
    }
    if (const toml::node* const word = table.get("figure")) {
      const std::optional<Figure> figure = figure_of(text(*word));
      if (!figure || !has_figure(quantity.subject, *figure)) {
        fail(*word, fmt::format("a {} has no figure {}", word_of(quantity.subject), text(*word)));
      }
      quantity.figure = *figure;
    }
    return quantity;
  }

  std::string text(const toml::node& node) const {
    if (!node.is_string()) fail(node, "a text in quotes is wanted");
    return *node.value<std::string>();
  }

  // Seconds.
  double time(const toml::node& node) const {
    const std::optional<uint64_t> ns = parse_time(text(node));
    if (!ns) fail(node, "a time such as \"2s\" or \"150ms\" is wanted");
    return static_cast<double>(*ns) / kNsPerSecond;
  }

  double number(const toml::node& node) const {
    const std::optional<int64_t> value = node.value<int64_t>();
    if (!node.is_integer() || *value < 0) fail(node, "a whole number such as 2_000_000 is wanted");
    return static_cast<double>(*value);
  }

  // "5%" is 0.05.
  double share(const toml::node& node) const {
    const std::string word = text(node);
    double percent = 0;
    const auto [end, error] =
        std::from_chars(word.data(), word.data() + word.size(), percent, std::chars_format::fixed);
    if (error != std::errc() || std::string_view(end) != "%" ||
        !(percent >= 0 && percent <= kLargestShare)) {
      fail(node, "a percentage such as \"5%\" is wanted");
    }
    constexpr double kHundred = 100;
    return percent / kHundred;
  }

  std::string path_;
};

}  // namespace

Budgets parse_budgets(const std::string& text, const std::string& path) {
  return BudgetsReader(path).read(text);
}

Budgets read_budgets(const std::string& path) {
  std::ifstream file(path);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  if (!file.is_open() || file.bad()) {
    throw Error("{}: cannot be read: it has the budgets (docs/ci.md)", path);
  }
  return parse_budgets(text, path);
}

}  // namespace sampan::reports

#include "reports/gate/quantity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/text/function_name.h"
#include "base/time.h"
#include "base/units.h"
#include "profile/flat.h"
#include "profile/frames.h"
#include "profile/function_shares.h"
#include "profile/span_table.h"
#include "profile/summary.h"

namespace sampan::reports {
namespace {

using profile::kNone;
using profile::Profile;

constexpr size_t kNotableFunctions = 100;

constexpr std::array<std::pair<Subject, std::string_view>, 4> kSubjects = {{
    {Subject::kProgram, "program"},
    {Subject::kThread, "thread"},
    {Subject::kFunction, "function"},
    {Subject::kSpan, "span"},
}};

constexpr std::array<std::pair<Figure, std::string_view>, 8> kFigures = {{
    {Figure::kCpu, "cpu"},
    {Figure::kSelf, "self"},
    {Figure::kShare, "share"},
    {Figure::kWall, "wall"},
    {Figure::kP50, "p50"},
    {Figure::kP99, "p99"},
    {Figure::kAverage, "average"},
    {Figure::kInstructions, "instructions"},
}};

struct Unit {
  const char* name;
  double size;  // in seconds, instructions, or of the whole
};

Unit unit_of(Figure figure, double value) {
  if (is_share(figure)) return {"%", 1e-2};
  if (figure == Figure::kInstructions) return value < 1e9 ? Unit{"M", 1e6} : Unit{"G", 1e9};
  return value < 1 ? Unit{"ms", 1e-3} : Unit{"s", 1};
}

// So that the margin has two digits that count.
int decimals(double margin) {
  constexpr int kMost = 3;
  return margin > 0 ? std::clamp(1 - static_cast<int>(std::floor(std::log10(margin))), 0, kMost)
                    : kMost;
}

// The names that a stack counts for, each once.
std::set<std::string> names_of(const Profile& profile, const std::vector<uint32_t>& functions) {
  std::set<std::string> names;
  for (const uint32_t function : functions) {
    const std::string_view whole = profile::function_name(profile, function);
    names.emplace(whole);
    names.insert(short_name(whole));
  }
  return names;
}

}  // namespace

std::string_view word_of(Subject subject) {
  return std::ranges::find(kSubjects, subject, &std::pair<Subject, std::string_view>::first)
      ->second;
}

std::string_view word_of(Figure figure) {
  return std::ranges::find(kFigures, figure, &std::pair<Figure, std::string_view>::first)->second;
}

std::optional<Figure> figure_of(std::string_view word) {
  const auto* const found =
      std::ranges::find(kFigures, word, &std::pair<Figure, std::string_view>::second);
  return found == kFigures.end() ? std::nullopt : std::optional(found->first);
}

bool has_figure(Subject subject, Figure figure) {
  switch (subject) {
    case Subject::kProgram:
      return figure == Figure::kCpu || figure == Figure::kWall || figure == Figure::kInstructions;
    case Subject::kThread: return figure == Figure::kCpu;
    case Subject::kFunction:
      return figure == Figure::kCpu || figure == Figure::kSelf || figure == Figure::kShare;
    case Subject::kSpan:
      return figure == Figure::kP50 || figure == Figure::kP99 || figure == Figure::kAverage;
  }
  return false;
}

std::string key_of(const Quantity& quantity) {
  std::string key = fmt::format("{} {}", word_of(quantity.subject), word_of(quantity.figure));
  return quantity.name.empty() ? key : key + " " + quantity.name;
}

std::optional<Quantity> quantity_of(std::string_view key) {
  const auto take_word = [&key] {
    const std::string_view word = key.substr(0, key.find(' '));
    key.remove_prefix(std::min(key.size(), word.size() + 1));
    return word;
  };
  const std::string_view subject_word = take_word();
  const auto* const subject =
      std::ranges::find(kSubjects, subject_word, &std::pair<Subject, std::string_view>::second);
  const std::optional<Figure> figure = figure_of(take_word());
  if (subject == kSubjects.end() || !figure || !has_figure(subject->first, *figure) ||
      key.empty() != (subject->first == Subject::kProgram)) {
    return std::nullopt;
  }
  return Quantity{subject->first, *figure, std::string(key)};
}

std::string value_text(Figure figure, double value) {
  const auto [name, size] = unit_of(figure, value);
  return fmt::format("{:.3g} {}", value / size, name);
}

std::string value_text(Figure figure, double value, double margin) {
  const auto [name, size] = unit_of(figure, value);
  return fmt::format("{:.{}f} ± {:.{}f} {}", value / size, decimals(margin / size), margin / size,
                     decimals(margin / size), name);
}

RunFigures::RunFigures(const profile::View& view) : view_(view) {
  std::unordered_map<uint32_t, uint64_t> by_stack;  // on CPU: waiting samples have none
  for (const uint32_t index : view.samples) {
    const profile::Sample& sample = view.profile->samples[index];
    if (sample.wait != kNone) continue;
    by_stack[sample.stack] += sample.weight_ns;
    sampled_cpu_ns_ += sample.weight_ns;
    ++samples_;
  }
  profile::StackFunctions self(*view.profile, profile::ShareOf::kSelf),
      total(*view.profile, profile::ShareOf::kTotal);
  for (const auto& [stack, ns] : by_stack) {
    for (const std::string& name : names_of(*view.profile, self.of(stack))) {
      functions_[name].self_ns += ns;
    }
    for (const std::string& name : names_of(*view.profile, total.of(stack))) {
      functions_[name].total_ns += ns;
    }
  }
}

std::optional<double> RunFigures::value(const Quantity& quantity) const {
  switch (quantity.subject) {
    case Subject::kProgram: return program(quantity.figure);
    case Subject::kThread: return thread(quantity.name);
    case Subject::kFunction: return function(quantity.figure, quantity.name);
    case Subject::kSpan: return span(quantity.figure, quantity.name);
  }
  return std::nullopt;
}

std::optional<double> RunFigures::program(Figure figure) const {
  if (figure == Figure::kInstructions) {
    const auto& end = view_.profile->end;
    if (!end || !end->instructions) return std::nullopt;
    return static_cast<double>(*end->instructions);
  }
  if (figure == Figure::kWall) return in_seconds(view_.profile->duration_ns());
  const std::optional<uint64_t> cpu_ns = profile::summarize(view_).cpu_ns;
  return in_seconds(cpu_ns.value_or(sampled_cpu_ns_));
}

std::optional<double> RunFigures::thread(const std::string& name) const {
  std::optional<uint64_t> ns;
  for (const uint32_t index : view_.threads) {
    const profile::Thread& thread = view_.profile->threads[index];
    if (thread.name == name) {
      ns = ns.value_or(0) + thread.cpu_ns.value_or(thread.sampled_cpu_ns);
    }
  }
  return ns ? std::optional(in_seconds(*ns)) : std::nullopt;
}

std::optional<double> RunFigures::function(Figure figure, const std::string& name) const {
  const auto found = functions_.find(name);
  if (found == functions_.end()) return std::nullopt;
  const FunctionTime& time = found->second;
  if (figure == Figure::kSelf) return in_seconds(time.self_ns);
  if (figure == Figure::kCpu) return in_seconds(time.total_ns);
  return in_seconds(time.total_ns) / in_seconds(sampled_cpu_ns_);
}

double RunFigures::resolution(const Quantity& quantity) const {
  if (quantity.subject != Subject::kFunction || samples_ == 0) return 0;
  const auto samples = static_cast<double>(samples_);
  return is_share(quantity.figure) ? 1 / samples : in_seconds(sampled_cpu_ns_) / samples;
}

std::optional<double> RunFigures::span(Figure figure, const std::string& name) const {
  for (const profile::SpanRow& row : profile::span_ranking(view_).rows) {
    if (view_.profile->markers.texts[row.name] != name) continue;
    if (figure == Figure::kAverage) return row.average_ns() / kNsPerSecond;
    return in_seconds(figure == Figure::kP50 ? row.p50_ns : row.p99_ns);
  }
  return std::nullopt;
}

std::vector<Quantity> RunFigures::notable() const {
  std::vector<Quantity> all = {{Subject::kProgram, Figure::kCpu},
                               {Subject::kProgram, Figure::kWall}};
  if (program(Figure::kInstructions)) all.push_back({Subject::kProgram, Figure::kInstructions});
  std::set<std::string> threads, functions;
  for (const uint32_t index : view_.threads) threads.insert(view_.profile->threads[index].name);
  for (const std::string& name : threads) {
    if (!name.empty()) all.push_back({Subject::kThread, Figure::kCpu, name});
  }
  for (const profile::SpanRow& row : profile::span_ranking(view_).rows) {
    for (const Figure figure : {Figure::kP50, Figure::kP99, Figure::kAverage}) {
      all.push_back({Subject::kSpan, figure, view_.profile->markers.texts[row.name]});
    }
  }
  std::vector<profile::FlatRow> rows = profile::flat_table(view_);
  std::ranges::stable_sort(rows, std::ranges::greater(),
                           [](const profile::FlatRow& row) { return row.total.ns; });
  for (const profile::FlatRow& row : rows) {
    if (functions.size() == kNotableFunctions) break;
    if (row.function == kNone) continue;
    const std::string name = short_name(profile::function_name(*view_.profile, row.function));
    if (!functions.insert(name).second) continue;
    for (const Figure figure : {Figure::kCpu, Figure::kSelf, Figure::kShare}) {
      all.push_back({Subject::kFunction, figure, name});
    }
  }
  return all;
}

}  // namespace sampan::reports

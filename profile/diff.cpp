#include "profile/diff.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "profile/function_shares.h"
#include "profile/python_modules.h"
#include "profile/statistics.h"

namespace sampan::profile {
namespace {

// With fewer samples on both sides together, even "all on one side" is within noise.
constexpr uint64_t kFewSamples = 10;

class Comparison {
 public:
  Comparison(const View& view, const DiffOptions& options)
      : view_(view), options_(options), functions_(*view.profile, options.of) {
    diff_.options = options;
  }

  Diff finish() {
    const View sides[2] = {only_side(view_, 0), only_side(view_, 1)};
    for (const unsigned side : {0u, 1u}) count(sides[side], side);
    drop_rare();
    for (const unsigned side : {0u, 1u}) add_noise(sides[side], side);
    for (Change& change : diff_.changes) {
      change.change = change.share[1] - change.share[0];
      change.margin = std::sqrt(change.margin) * quantile();
      diff_.beyond_noise += change.beyond_noise();
    }
    std::stable_sort(diff_.changes.begin(), diff_.changes.end(),
                     [](const Change& a, const Change& b) {
                       return std::pair(a.beyond_noise(), std::abs(a.change)) >
                              std::pair(b.beyond_noise(), std::abs(b.change));
                     });
    return std::move(diff_);
  }

 private:
  void count(const View& side, unsigned number) {
    diff_.total[number] = total_weight(side);
    if (diff_.total[number].ns == 0) {
      throw Error("{} has no samples to compare", view_.profile->sides[number]);
    }
    for (const uint32_t index : side.samples) {
      const Sample& sample = view_.profile->samples[index];
      for (const uint32_t function : functions_.of(sample.stack)) {
        const auto [place, is_new] = rows_.try_emplace(function, diff_.changes.size());
        if (is_new) diff_.changes.push_back({.function = function});
        diff_.changes[place->second].weight[number] += {sample.weight_ns, 1};
      }
    }
  }

  void drop_rare() {
    diff_.too_few = std::erase_if(diff_.changes, [](const Change& change) {
      return change.weight[0].samples + change.weight[1].samples < kFewSamples;
    });
  }

  // Shares of one side; their variances are added to the margins.
  void add_noise(const View& side, unsigned number) {
    std::vector<uint32_t> functions;
    for (const Change& change : diff_.changes) functions.push_back(change.function);
    const auto shares = function_shares(side, functions_, functions, options_.by);
    for (size_t row = 0; row < shares.size(); ++row) {
      diff_.changes[row].share[number] = shares[row].share;
      diff_.changes[row].margin += shares[row].variance;
    }
  }

  double quantile() const {
    const auto comparisons = static_cast<double>(std::max<size_t>(diff_.changes.size(), 1));
    return two_sided_quantile((1 - options_.confidence) / comparisons);
  }

  const View& view_;
  const DiffOptions& options_;
  StackFunctions functions_;
  std::unordered_map<uint32_t, size_t>
      rows_;  // by function, into diff_.changes while they are counted
  Diff diff_;
};

}  // namespace

void match_functions(Profile& profile) {
  // Python's files of one name are many: "__init__.py". Below a folder of packages their modules
  // tell them apart; the paths of other files may differ between two runs.
  const std::vector<std::string> modules = python_modules(profile);
  std::map<std::tuple<uint32_t, std::string_view, std::string_view>, uint32_t> first;
  std::vector<uint32_t> same(profile.functions.size());
  for (uint32_t i = 0; i < same.size(); ++i) {
    const Function& function = profile.functions[i];
    const std::string_view file = file_name(profile.strings[function.file]);
    const bool is_package = !modules[i].empty() && modules[i].find('/') == modules[i].npos;
    const std::string_view module =
        is_package ? std::string_view(modules[i]) : module_name(profile, function.module);
    same[i] = first.try_emplace({function.name, file, module}, i).first->second;
  }
  for (Line& line : profile.lines) {
    if (line.function != kNone) line.function = same[line.function];
  }
}

View only_side(const View& view, unsigned side) {
  const Profile& profile = *view.profile;
  const auto is_of_side = [&](uint32_t thread) { return profile.threads[thread].side == side; };
  std::vector<uint32_t> samples, threads;
  std::copy_if(view.samples.begin(), view.samples.end(), std::back_inserter(samples),
               [&](uint32_t index) { return is_of_side(profile.samples[index].thread); });
  std::copy_if(view.threads.begin(), view.threads.end(), std::back_inserter(threads), is_of_side);
  return view.part(std::move(samples), std::move(threads));
}

Diff diff(const View& view, const DiffOptions& options) {
  return Comparison(view, options).finish();
}

}  // namespace sampan::profile

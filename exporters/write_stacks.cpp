#include "exporters/write_stacks.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

namespace sampan::exporters {

using profile::kNone;
using profile::Weight;

StackRows merge_light_stacks(const profile::Profile& profile, const StackRows& rows,
                             uint64_t least_ns) {
  StackRows result;
  for (size_t first = 0, last = 0; first < rows.size(); first = last) {
    const uint32_t thread = rows[first].thread, label = rows[first].label;
    std::map<uint32_t, Weight, std::greater<>> pending;  // by stack: prefixes come later
    for (; last < rows.size() && rows[last].thread == thread && rows[last].label == label; ++last) {
      pending[rows[last].stack] += rows[last].weight;
    }
    const size_t begin = result.size();
    while (!pending.empty()) {
      const auto [stack, weight] = *pending.begin();
      pending.erase(pending.begin());
      const uint32_t prefix = stack == kNone ? kNone : profile.stacks[stack].prefix;
      const bool waits =
          stack != kNone && profile.locations[profile.stacks[stack].location].wait != kNone;
      if (weight.ns < least_ns && prefix != kNone && !waits) {
        pending[prefix] += weight;
      } else {
        result.push_back({thread, stack, weight, label});
      }
    }
    std::reverse(result.begin() + static_cast<ptrdiff_t>(begin), result.end());
  }
  return result;
}

Outcome write_stacks(const profile::View& view, const std::string& path, uint64_t max_size,
                     const std::function<void(const StackRows& rows, OutputFile& file)>& write,
                     const std::vector<uint32_t>& labels) {
  const StackRows all = profile::by_thread_and_stack(view, labels);
  const auto too_large = [&](const StackRows& rows) {
    if (max_size == 0) return false;
    OutputFile trial("/dev/null");
    write(rows, trial);
    trial.commit();
    return trial.size() > max_size;
  };
  constexpr uint64_t kShares = 1'000'000;  // stacks of less than a millionth are merged first
  uint64_t total_ns = 0;
  for (const profile::WeightedStack& row : all) total_ns += row.weight.ns;
  uint64_t least_ns = std::max<uint64_t>(total_ns / kShares, 1);

  StackRows fewer;
  const StackRows* rows = &all;
  for (; too_large(*rows) && least_ns <= 2 * total_ns; least_ns *= 2) {
    fewer = merge_light_stacks(*view.profile, all, least_ns);
    rows = &fewer;
  }
  OutputFile file(path);
  write(*rows, file);
  file.commit();
  if (rows == &all) return {};
  return {{fmt::format(
      "{} of {} stacks, each of less than {:.3g} s, are part of their callers', so that the file "
      "has at most {:.1f} MB: totals of threads are exact",
      all.size() - std::min(all.size(), fewer.size()), all.size(),
      static_cast<double>(least_ns) / 2e9, static_cast<double>(max_size) / 1e6)}};
}

}  // namespace sampan::exporters

#include "profile/rates.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/text/readable.h"

namespace sampan::profile {
namespace {

constexpr double kIdleShare = 0.05;  // of one CPU

}  // namespace

RateRange rate_range(const Profile& profile) {
  const auto& changes = profile.rates.changes;
  const uint32_t first = !changes.empty() && changes.front().time_ns == 0 ? changes.front().rate_hz
                                                                          : profile.session.rate_hz;
  RateRange range{first, first, first, false};
  for (const RateChange& change : changes) {
    range.lowest_hz = std::min(range.lowest_hz, change.rate_hz);
    range.highest_hz = std::max(range.highest_hz, change.rate_hz);
    range.last_hz = change.rate_hz;
    range.governed |= change.governed;
  }
  return range;
}

std::optional<Cost> cost(const Profile& profile) {
  if (profile.rates.costs.empty()) return std::nullopt;
  const Cost &first = profile.rates.costs.front(), &last = profile.rates.costs.back();
  const auto grown = [&](uint64_t Cost::*what) {
    return last.*what - std::min(first.*what, last.*what);
  };
  Cost cost;
  cost.time_ns = last.time_ns;
  cost.target_ns = grown(&Cost::target_ns);
  cost.in_target_ns = std::min(grown(&Cost::in_target_ns), cost.target_ns);
  cost.recorder_ns = grown(&Cost::recorder_ns);
  // Nothing but samples: the target's CPU is not known.
  return cost.in_target_ns == cost.target_ns ? std::nullopt : std::optional(cost);
}

double cost_share(const Cost& cost, uint64_t part_ns) {
  return static_cast<double>(part_ns) / static_cast<double>(cost.target_ns - cost.in_target_ns);
}

std::string rate_text(const Profile& profile) {
  const uint32_t asked = profile.session.rate_hz;
  const RateRange range = rate_range(profile);
  std::string text = fmt::format("{} Hz asked", asked);
  if (range.changed()) {
    text += fmt::format(", {} to {} Hz held, {} Hz last", range.lowest_hz, range.highest_hz,
                        range.last_hz);
  } else if (range.last_hz != asked) {
    text += fmt::format(", {} Hz held", range.last_hz);
  }
  if (range.governed) text += " (--max-overhead)";
  const std::vector<std::string> clocks = sampling_clocks(profile);
  if (!clocks.empty()) text += fmt::format(", sampling clock {}", fmt::join(clocks, " and "));
  return text;
}

std::vector<std::string> sampling_clocks(const Profile& profile) {
  const uint32_t bits = profile.end ? profile.end->sampling_clocks : 0;
  std::vector<std::string> names;
  if ((bits & SessionEnd::kPerfClock) != 0) names.emplace_back("perf");
  if ((bits & SessionEnd::kDrumClock) != 0) names.emplace_back("drum");
  if ((bits & SessionEnd::kTimerClock) != 0) names.emplace_back("timer");
  return names;
}

std::string cost_text(const Profile& profile) {
  const std::optional<Cost> total = cost(profile);
  if (!total) return "";
  // Compared with what an idle program uses, everything is much.
  const auto passed_ns =
      static_cast<double>(total->time_ns.since(profile.rates.costs.front().time_ns));
  const auto used_ns = static_cast<double>(total->target_ns - total->in_target_ns);
  const bool is_idle = used_ns < kIdleShare * passed_ns;
  const auto share = [&](uint64_t ns) {
    return 100 * static_cast<double>(ns) / (is_idle ? passed_ns : used_ns);
  };
  const uint64_t all_ns = total->in_target_ns + total->recorder_ns;
  return fmt::format("{} s of CPU, {:.2f} % of {}: {:.2f} % in it, {:.2f} % sampan",
                     seconds(all_ns), share(all_ns),
                     is_idle ? "one CPU, as the program is idle" : "the program's",
                     share(total->in_target_ns), share(total->recorder_ns));
}

}  // namespace sampan::profile

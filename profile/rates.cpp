#include "profile/rates.h"

#include <algorithm>

namespace sampan::profile {

RateRange rate_range(const Profile& profile) {
  const auto& changes = profile.rates.changes;
  const uint32_t first = !changes.empty() && changes.front().time_ns == 0 ? changes.front().rate_hz
                                                                          : profile.session.rate_hz;
  RateRange range{first, first, first, false};
  for (const recording::RateChange& change : changes) {
    range.lowest_hz = std::min(range.lowest_hz, change.rate_hz);
    range.highest_hz = std::max(range.highest_hz, change.rate_hz);
    range.last_hz = change.rate_hz;
    range.governed |= change.governed;
  }
  return range;
}

std::optional<recording::Cost> cost(const Profile& profile) {
  if (profile.rates.costs.empty()) return std::nullopt;
  const recording::Cost &first = profile.rates.costs.front(), &last = profile.rates.costs.back();
  const auto grown = [&](uint64_t recording::Cost::*what) {
    return last.*what - std::min(first.*what, last.*what);
  };
  recording::Cost cost;
  cost.time_ns = last.time_ns;
  cost.target_ns = grown(&recording::Cost::target_ns);
  cost.in_target_ns = std::min(grown(&recording::Cost::in_target_ns), cost.target_ns);
  cost.recorder_ns = grown(&recording::Cost::recorder_ns);
  return cost.target_ns == 0 ? std::nullopt : std::optional(cost);
}

double cost_share(const recording::Cost& cost, uint64_t part_ns) {
  const uint64_t own_ns = std::max<uint64_t>(cost.target_ns - cost.in_target_ns, 1);
  return static_cast<double>(part_ns) / static_cast<double>(own_ns);
}

}  // namespace sampan::profile

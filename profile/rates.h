// The rates that a profile was sampled at, and what sampling cost.
#pragma once

#include <cstdint>
#include <optional>

#include "profile/profile.h"

namespace sampan::profile {

struct RateRange {
  uint32_t lowest_hz, highest_hz, last_hz;
  bool governed;  // some of them by --max-overhead
  bool changed() const { return lowest_hz != highest_hz; }
};
RateRange rate_range(const Profile& profile);

// During the profile. `target_ns` is not zero. Absent where it is not known.
std::optional<recording::Cost> cost(const Profile& profile);

// Of what the target would have used alone.
double cost_share(const recording::Cost& cost, uint64_t part_ns);

}  // namespace sampan::profile

// The rates that a profile was sampled at, and what sampling cost, as numbers and in words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "profile/profile.h"

namespace sampan::profile {

struct RateRange {
  uint32_t lowest_hz, highest_hz, last_hz;
  bool governed;  // --max-overhead chose some of them
  bool changed() const { return lowest_hz != highest_hz; }
};
RateRange rate_range(const Profile& profile);

// The cost over the whole profile; `target_ns` is more than `in_target_ns`. Absent when it is not known.
std::optional<Cost> cost(const Profile& profile);

// `part_ns` of a cost as a share of the CPU that the target would have used unsampled.
double cost_share(const Cost& cost, uint64_t part_ns);

// "4000 Hz asked, 100 to 420 Hz held ..., sampling clock drum"
std::string rate_text(const Profile& profile);
// The names of the clocks that sent sampling signals above the kernel's tick, as --sampling-clock has them.
std::vector<std::string> sampling_clocks(const Profile& profile);
// "0.031 s of CPU, 0.9 % of the program's: ..."; "" if it is not known.
std::string cost_text(const Profile& profile);

}  // namespace sampan::profile

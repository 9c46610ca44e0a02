// What a recording has besides samples: allocations with their ends, and waits for locks.
#pragma once

#include <cstdint>
#include <vector>

#include "profile/profile.h"
#include "recording/reader.h"

namespace sampan::profile {

// `stacks`: the profile's stacks by row of the recording, see enter_stacks().
void load_watched(const recording::Recording& from, const std::vector<uint32_t>& stacks,
                  Profile* profile);

}  // namespace sampan::profile

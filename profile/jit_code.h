// Code that was made at run time has no module: its address says what it is only together with the
// process and the time. Of a frame that was several functions, each gets a location of its own, and
// the stacks of samples lead to the one that ran: so whatever shows functions shows the right one.
#pragma once

#include <cstdint>
#include <vector>

#include "profile/profile.h"

namespace sampan::profile {

inline bool is_jit(const Location& location) {
  return location.module == kNone && location.wait == kNone && location.address != kShortThread;
}

// The location that stands for the frame of a recording.
inline uint32_t frame_of(const Profile& profile, uint32_t location) {
  const uint32_t copy_of = profile.locations[location].copy_of;
  return copy_of != kNone ? copy_of : location;
}

// Adds these names to the profile's, in place of others of the same process and frame, and gives
// them to the samples. Rows that fit nothing are left out. Before its first time a name counts too:
// code is announced when it has been made.
void name_jit_code(std::vector<JitName> names, Profile* profile);

}  // namespace sampan::profile

// Code that was made at run time has no module: the same address may be different functions in
// different processes or at different times. Each of them gets a location of its own, and samples
// get stacks with the one that ran, so that everything that shows functions shows the right one.
#pragma once

#include <cstdint>
#include <vector>

#include "profile/profile.h"
#include "wire/deep_stack.h"

namespace sampan::profile {

using wire::kFramesLeftOut;

inline bool is_jit(const Location& location) {
  return location.module == kNone && location.wait == kNone && !wire::is_no_code(location.address);
}

// The location that stands for the frame of a recording.
inline uint32_t frame_of(const Profile& profile, uint32_t location) {
  const uint32_t copy_of = profile.locations[location].copy_of;
  return copy_of != kNone ? copy_of : location;
}

// Adds the names to the profile, replacing others of the same process and frame, and applies them
// to the samples. Names of unknown frames are ignored. The first name of a frame also counts before
// its time: code is announced after it has been made.
void name_jit_code(std::vector<JitName> names, Profile* profile);

}  // namespace sampan::profile

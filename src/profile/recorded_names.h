// Names that a recording has: into the profile when it is loaded, and out of it to be recorded.
#pragma once

#include "profile/profile.h"
#include "recording/names.h"

namespace sampan::profile {

// Enters names as functions and lines; of frames that the profile does not have, nothing.
void enter_names(const recording::Names& names, Profile* profile);

// The same of code that was made at run time: when the profile has all else. See jit_code.h.
void enter_jit_names(const recording::Names& names, Profile* profile);

// All names of the frames that a recording has, with all functions and texts of the profile.
recording::Names names_to_record(const Profile& profile);

// Whether everything is known of a location: each function, its file and line.
bool has_all_names(const Profile& profile, const Location& location);

}  // namespace sampan::profile

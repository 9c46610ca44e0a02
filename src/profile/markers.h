// What the program said of itself (recording/markers.h), in the order in which it is read, and its
// labels put in place of names.
#pragma once

#include "profile/profile.h"

namespace sampan::profile {

// The threads and processes of the profile are loaded already: labels give them their names.
void load_markers(Markers markers, Profile* profile);

}  // namespace sampan::profile

// Two recordings in one profile, so that whatever shows a profile can show both sides of a
// comparison: each thread is of side 0 or 1 (Thread::side), which Profile::sides names.
//
// A function is the same on both sides when it has the same name, in a file of the same name, in a
// module of the same name: programs that are compared were mostly built anew, in other places, and
// their lines have moved.
#pragma once

#include <string>
#include <vector>

#include "profile/profile.h"
#include "profile/view.h"
#include "recording/merge.h"

namespace sampan::profile {

// Both begin at time 0. Names have still to be found, then match_functions() called.
Profile load_sides(recording::MergeInput a, recording::MergeInput b);

// Of a symbolized profile: gives functions that are the same one handle, the first one's.
void match_functions(Profile& profile);

// The view, one side of it.
View only_side(const View& view, unsigned side);

}  // namespace sampan::profile

// What of the markers did not come into the recording, a sentence for each reason.
#pragma once

#include <string>
#include <vector>

#include "profile/profile.h"

namespace sampan::reports {

// "lost: 1,234 markers dropped, lane full".
std::vector<std::string> marker_losses(const profile::Profile& profile);

}  // namespace sampan::reports

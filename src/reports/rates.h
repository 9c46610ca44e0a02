// What reports say of the rate and of what sampling cost.
#pragma once

#include <optional>
#include <string>

#include "profile/profile.h"

namespace sampan::reports {

// "4000 Hz asked, 100 to 420 Hz held ..."
std::string rate_text(const profile::Profile& profile);
// "0.031 s of CPU, 0.9 % of the program's: ..."; "" where it is not known.
std::string cost_text(const profile::Profile& profile);

}  // namespace sampan::reports

// What functions are, for everything that shows kinds of them in different colours.
#pragma once

#include <cstdint>
#include <vector>

#include "profile/profile.h"

namespace sampan::profile {

enum class FunctionKind : uint8_t {
  kNative,
  kPython,  // that an interpreter runs
  kWait,    // stands for a wait, "[read pipe]"
};

// By function. Those that no location has are native.
std::vector<FunctionKind> function_kinds(const Profile& profile);

}  // namespace sampan::profile

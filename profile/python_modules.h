// The modules that Python's functions belong to, as a person names them. A recording has the files
// of functions, not the names of their modules.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "profile/profile.h"

namespace sampan::profile {

// "json.encoder" of /usr/lib/python3.11/json/encoder.py: the path below a folder where Python looks
// for packages. "importlib._bootstrap" of <frozen importlib._bootstrap>. Other files as they are.
std::string python_module(std::string_view file);

// By function of the profile: the module of Python's, "" for others.
std::vector<std::string> python_modules(const Profile& profile);

}  // namespace sampan::profile

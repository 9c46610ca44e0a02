// Interpreters of Python whose functions sampan does not show, so that their stacks are native.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "profile/profile.h"

namespace sampan::profile {

// "PyPy", "free-threaded Python 3.13", "Python 3.15", by the file that has the interpreter; "" of
// other files, and of CPython 3.9 to 3.14.
std::string unknown_python(std::string_view path);

// What a person must know about the Python programs of the recording, in sentences.
std::vector<std::string> python_notes(const Profile& profile);

}  // namespace sampan::profile

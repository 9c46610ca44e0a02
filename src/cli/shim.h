// Where libsampan_preload.so is: beside the program (a build directory), or where `meson install`
// puts it.
#pragma once

#include <string>

namespace sampan::cli {

// Absolute. Throws Error, saying where it was looked for.
std::string find_shim();

}  // namespace sampan::cli

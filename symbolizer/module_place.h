// Where the file of a module is opened: usually at its path.
#pragma once

#include <string>
#include <vector>

#include "profile/profile.h"
#include "symbolizer/symbolizer.h"

namespace sampan::symbolizer {

// The path to open: that of a substitute; that below the sysroot, if the file that ran is there; or the module's own. A
// module without a build-id is the one below the sysroot, or none.
std::string place_of(const profile::Module& module, const Options& options);

// Those below the sysroot come first.
std::vector<std::string> debug_directories(const Options& options);

}  // namespace sampan::symbolizer

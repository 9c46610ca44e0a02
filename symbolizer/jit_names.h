// Names of code that was made at run time, from what runtimes write for perf: jit-PID.dump, which
// has times (jit_dump.h), else perf-PID.map, which has none (perf_map.h): there the last name of an
// address counts.
//
// Both are read only where the recording was made, when they were written after their process
// began, and by the same user.
#pragma once

#include <string>
#include <vector>

#include "profile/profile.h"

namespace sampan::symbolizer {

// Whether a profile was recorded on this machine, and so of files that are here.
bool is_made_here(const profile::Profile& profile);

// The current directory (node), /tmp (maps, .NET, Python), and where agents of Java and LLVM put
// theirs: the folders in .debug/jit of $JITDUMPDIR and $HOME.
std::vector<std::string> default_jit_directories();

// Gives the profile those names, see profile/jit_code.h. Returns files that could not all be read,
// a sentence each.
std::vector<std::string> name_jit_code(profile::Profile& profile,
                                       const std::vector<std::string>& directories);

}  // namespace sampan::symbolizer

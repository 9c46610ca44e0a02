// Names of code generated at run time: those of the recording, which the process told debuggers,
// and those in files that runtimes write for perf: jit-PID.dump, which has times, else
// perf-PID.map, which has none, so that the last name of an address counts. An address that both
// name has that of the file.
//
// Both files are read only on the machine of the recording, and only if they were written by the
// same user after their process began.
#pragma once

#include <string>
#include <vector>

#include "profile/profile.h"

namespace sampan::symbolizer {

// Whether a profile was recorded on this machine, so that files here are the ones it used.
bool is_made_here(const profile::Profile& profile);

// The current directory (node), /tmp (maps, .NET, Python), and the directories of agents of Java
// and LLVM: those in .debug/jit of $JITDUMPDIR and $HOME.
std::vector<std::string> default_jit_directories();

// Adds these names to the profile, see profile/jit_code.h, and demangles all. Returns a sentence
// for each file that could not be read completely.
std::vector<std::string> name_jit_code(profile::Profile& profile,
                                       const std::vector<std::string>& directories);

}  // namespace sampan::symbolizer

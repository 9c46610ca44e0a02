// From a recording to a profile with names: what the commands that read one have in common.
#pragma once

#include <string>
#include <vector>

#include "cli/progress.h"
#include "profile/profile.h"
#include "recording/reader.h"
#include "symbolizer/symbolizer.h"

namespace sampan::cli {

// What is at `path` (recording_path()); says on stderr what of it is damaged. Throws Error where
// nothing can be read.
recording::Recording read_recording(const std::string& path);

// Names the profile's functions. Returns what has no symbols and why, a sentence each.
std::vector<std::string> find_names(profile::Profile& profile, Progress& progress,
                                    const std::vector<symbolizer::Substitute>& substitutes = {});

// Writes the names into the recording that the profile is of. Throws Error.
void record_names(const std::string& path, const profile::Profile& profile);

// Says those sentences on stderr.
void print_without_symbols(const std::vector<std::string>& problems);

}  // namespace sampan::cli

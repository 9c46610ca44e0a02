// The recordings that need no path: those that `run` has left below its usual directory.
#pragma once

#include <string>
#include <vector>

namespace sampan::cli {

// Where `run` and others make a directory for each recording, unless --output names another.
inline constexpr const char* kUsualOutput = "sampan-profiles";
// The name of such a directory begins with the local time, as strftime() writes it.
inline constexpr const char* kDirectoryTime = "%Y-%m-%d_%H-%M-%S";

// The directory that `word` stands for: "-1" for the latest recording below the usual directory, or
// SAMPAN_OUTPUT, "-2" for the one before, and a directory of recordings for its latest. Other words
// stay as they are. Throws Error if there are not so many.
std::string find_recording(const std::string& word);
// The same, and says on stderr which one it is if `word` does not.
std::string named_recording(const std::string& word);

// The directories of the recordings below `output`, the latest first. "": below the usual directory.
std::vector<std::string> latest_recordings(const std::string& output);

}  // namespace sampan::cli

// A recording in several files: "000000.sampan", "000001.sampan", … in a directory "segments" of
// the run's. They can be read while the session goes on, and the oldest may vanish meanwhile.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "recording/reader.h"

namespace sampan::recording {

inline constexpr const char* kSegmentsDirectory = "segments";

std::string segment_file_name(uint32_t number);

// The segments in `directory`, in their order; none where there is no such directory.
std::vector<std::string> segment_files(const std::string& directory);

// Those of `files` that have something of the time from `from_ns` to `to_ns`: joined, and cut to
// it. Throws Error when none can be read.
Recording read_segments(const std::vector<std::string>& files, uint64_t from_ns = 0,
                        uint64_t to_ns = UINT64_MAX);

// The recording at `path`, whatever it is: a file, or a directory of segments. It begins at its own
// beginning (rebased()). Throws Error.
Recording read_whole(const std::string& path);

}  // namespace sampan::recording

// Writes a recording that is in memory as a file.
#pragma once

#include <functional>
#include <string>

#include "recording/reader.h"

namespace sampan::recording {

// Creates `path`, which must not exist: complete or absent. Of a segment, what makes it one is left
// out: see rebased(). Throws Error; also when `stopped`, which is asked now and then, says so.
void write(
    const Recording& recording, const std::string& path,
    const std::function<bool()>& stopped = [] { return false; });

}  // namespace sampan::recording

// The stacks of threads that run Python. A recording has the frames of the interpreter's functions
// among the native ones. A profile has both, or one kind of them.
#pragma once

#include <cstdint>
#include <vector>

#include "profile/profile.h"
#include "recording/reader.h"

namespace sampan::profile {

enum class PythonFrames {
  kMixed,   // Python functions and the C code between them, without the eval loops that run them
  kNative,  // C alone, with the eval loops
  kPython,  // Python functions alone: what C code takes counts for the function that called it
};

// Enters the recording's stacks; the profile has the locations of their frames. Returns handles by
// row of the recording: kNone where no frame is left.
//
// Stacks without a Python function stay as they are, whatever is wanted.
std::vector<uint32_t> enter_stacks(const recording::Recording& from, PythonFrames wanted,
                                   Profile* profile);

}  // namespace sampan::profile

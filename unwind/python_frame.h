// One frame of an interpreter. Freestanding: linked into the target.
#pragma once

#include <cstdint>

#include "wire/deep_stack.h"

namespace sampan::unwind {

struct PythonFrame {
  uint64_t at;    // AVMA of the frame itself
  uint64_t code;  // AVMA of its code object
  uint32_t unit;  // of bytecode that it executes, plus 1; 0: before the first one
};

inline constexpr unsigned kBytesOfUnit = 2;

// The tag of a reference that is borrowed, in frames of 3.14. No object is at an odd address.
inline constexpr uint64_t kPointerTag = 7;

// A chain that is longer is not believed.
inline constexpr unsigned kMaxPythonFrames = wire::kDeepestStack;

}  // namespace sampan::unwind

// A frame of code without unwind information from the start of its function: see the file of x86-64. Other
// processors go without.
//
// Freestanding: linked into the target.
#pragma once

#if defined(__x86_64__)
#include "unwind/x86_64/frame_from_start.h"
#else

#include <cstdint>

#include "unwind/image.h"
#include "unwind/packed_row.h"
#include "unwind/registers.h"
#include "unwind/step.h"

namespace sampan::unwind {

template <typename Memory>
class FrameFromStart {
 public:
  FrameFromStart(Memory&, const Module&, const RegisterFile&, bool) {}
  static Step find(uint16_t&, bool, RegisterFile&) { return Step::kNoRule; }
  static PackedRow row() { return {}; }
};

}  // namespace sampan::unwind

#endif

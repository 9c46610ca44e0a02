// The way from a pc to the return of its function, for code without unwind information. On AArch64 no
// instruction is followed yet: such code is left by its frame pointer, or at its first instruction.
//
// Freestanding: linked into the target.
#pragma once

#include <cstdint>

#include "unwind/packed_row.h"
#include "unwind/registers.h"
#include "unwind/step.h"

namespace sampan::unwind {

enum class Returns : bool { kAny, kFirst };

template <typename Memory>
class ReturnPath {
 public:
  ReturnPath(Memory& /*memory*/, const RegisterFile& /*file*/, bool /*called*/,
             Returns /*returns*/) {}

  static Step follow(uint16_t& /*left*/, RegisterFile& /*file*/) { return Step::kNoRule; }
  static bool met_return() { return false; }
  static PackedRow row() { return {}; }
};

}  // namespace sampan::unwind

// Where there is no unwind information (musl, Go, code made at run time): the frame pointer, as the
// psABI describes it (3.2.2): *rbp is the caller's rbp, above it the return address. rbp = 0 marks
// the outermost frame (3.4.1).
//
// Freestanding: linked into the target; async-signal-safe.
#pragma once

#include <cstdint>

#include "unwind/apply_row.h"

namespace sampan::unwind {

// `leaf`: the frame may be in a function that has not set rbp yet, so 0 says nothing.
template <typename Memory>
Step follow_frame_pointer(Memory& memory, bool leaf, RegisterFile& file) {
  if (!file.knows(kRbp)) return Step::kLostRegister;
  const uint64_t frame = file.registers.value[kRbp];
  if (frame == 0 && !leaf) return Step::kRoot;
  uint64_t bp = 0;
  uint64_t pc = 0;
  if (frame % 8 != 0 || frame < file.registers.value[kRsp] || !memory.read(frame, bp) ||
      !memory.read(frame + 8, pc)) {
    return Step::kNoRule;
  }
  file.known = 0;  // such code need not keep the other registers where we could find them
  file.set(kRbp, bp);
  file.set(kRsp, frame + 16);
  file.set(kRip, pc);
  return Step::kCaller;
}

}  // namespace sampan::unwind

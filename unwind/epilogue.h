// The end of a function behind a call, in code without unwind information: what a return address
// points to is what the frame does next, so its last instructions say exactly where the caller's
// frame begins. CPython's trampolines for perf (Python/asm_trampoline.S) only call and return.
//
// Freestanding: linked into the target.
#pragma once

#include <cstdint>

#include "unwind/apply_row.h"
#include "unwind/registers.h"

namespace sampan::unwind {

struct Epilogue {
  uint8_t released = 0;  // bytes that it adds to the stack pointer
  bool pops_bp = false;
  bool known = false;
};

// `code`: the bytes at a return address, the first in the lowest bits. Knows
// [add $released,%rsp] [pop %rbp] ret; Intel SDM 2, ADD (REX.W 83 /0), POP, RET.
constexpr Epilogue decode_epilogue(uint64_t code) {
  constexpr uint64_t kAddToRsp = 0xc48348, kPopRbp = 0x5d, kRet = 0xc3;
  Epilogue epilogue;
  if ((code & 0xffffff) == kAddToRsp && (code >> 24 & 0x80) == 0) {
    epilogue.released = static_cast<uint8_t>(code >> 24);
    code >>= 32;
  }
  if ((code & 0xff) == kPopRbp) {
    epilogue.pops_bp = true;
    code >>= 8;
  }
  epilogue.known = (code & 0xff) == kRet;
  return epilogue;
}

// From a frame that has made a call to its caller's. The other registers are the caller's already:
// what is left of the function does not restore them. kNoRule where it does more than return.
template <typename Memory>
Step follow_epilogue(Memory& memory, RegisterFile& file) {
  uint64_t code = 0;
  if (!memory.read(file.registers.value[kRip], code)) return Step::kNoRule;
  const Epilogue epilogue = decode_epilogue(code);
  if (!epilogue.known) return Step::kNoRule;
  uint64_t sp = file.registers.value[kRsp] + epilogue.released;
  uint64_t bp = 0, pc = 0;
  if (epilogue.pops_bp && !memory.read(sp, bp)) return Step::kBadAddress;
  if (epilogue.pops_bp) sp += 8;
  if (!memory.read(sp, pc)) return Step::kBadAddress;
  if (epilogue.pops_bp) file.set(kRbp, bp);
  file.set(kRip, pc);
  file.set(kRsp, sp + 8);
  return Step::kCaller;
}

}  // namespace sampan::unwind

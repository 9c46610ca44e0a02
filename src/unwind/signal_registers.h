// The registers of the code that a signal has interrupted, from what its handler is given.
//
// Freestanding: linked into the target; async-signal-safe.
#pragma once

#include <ucontext.h>

#include "unwind/registers.h"

namespace sampan::unwind {

inline Registers registers_of(const ucontext_t& context) {
  // In the order of the DWARF numbers.
  static constexpr int kOrder[kRegisterCount] = {
      REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
      REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
  Registers registers;
  for (unsigned number = 0; number < kRegisterCount; ++number) {
    registers.value[number] = static_cast<uint64_t>(context.uc_mcontext.gregs[kOrder[number]]);
  }
  return registers;
}

}  // namespace sampan::unwind

// Registers by their DWARF numbers (System V x86-64 psABI, figure 3.36); 16 is the return address
// column, here the instruction pointer.
//
// Freestanding: linked into the target.
#pragma once

#include <ucontext.h>

#include <cstdint>

namespace sampan::unwind {

enum Register : uint8_t { kRax, kRdx, kRcx, kRbx, kRsi, kRdi, kRbp, kRsp, kR8, kRip = 16 };
inline constexpr unsigned kRegisterCount = 17;

struct Registers {
  uint64_t value[kRegisterCount];
};

// A set of registers as a bit mask.
using RegisterSet = uint32_t;
constexpr RegisterSet register_bit(unsigned number) {
  return RegisterSet{1} << number;
}
inline constexpr RegisterSet kAllRegisters = (RegisterSet{1} << kRegisterCount) - 1;
// The registers that a packed row restores.
inline constexpr RegisterSet kPackedRegisters =
    register_bit(kRbx) | register_bit(kRbp) | register_bit(kRsp) | register_bit(kRip);

// The registers of one frame. `known` lacks those that an inner frame may have overwritten without
// saving them.
struct RegisterFile {
  Registers registers;
  RegisterSet known;

  bool knows(uint64_t number) const {
    return number < kRegisterCount && (known & register_bit(static_cast<unsigned>(number))) != 0;
  }
  void set(unsigned number, uint64_t value) {
    registers.value[number] = value;
    known |= register_bit(number);
  }
};

// The registers of the code that a signal has interrupted, from the handler's third argument.
// Async-signal-safe.
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

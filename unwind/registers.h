// Registers by their DWARF numbers (System V x86-64 psABI, figure 3.36); 16 is the return address
// column, here the instruction pointer.
//
// Freestanding: linked into the target.
#pragma once

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
// Those that a packed row restores.
inline constexpr RegisterSet kPackedRegisters =
    register_bit(kRbx) | register_bit(kRbp) | register_bit(kRsp) | register_bit(kRip);

// The registers of one frame. A register that an earlier frame may have overwritten, and that
// nobody restored, is not in `known`.
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

}  // namespace sampan::unwind

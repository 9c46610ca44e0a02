// The registers of a frame, by their DWARF numbers. Which there are, the folder of the processor says.
//
// Freestanding: linked into the target.
#pragma once

#include <cstdint>

#if defined(__aarch64__)
#include "unwind/aarch64/registers.h"
#else
#include "unwind/x86_64/registers.h"
#endif

namespace sampan::unwind {

struct Registers {
  uint64_t value[kRegisterCount];
};

// A set of registers as a bit mask.
using RegisterSet = uint64_t;
constexpr RegisterSet register_bit(unsigned number) {
  return RegisterSet{1} << number;
}
inline constexpr RegisterSet kAllRegisters = (RegisterSet{1} << kRegisterCount) - 1;
// The registers that a packed row restores.
inline constexpr RegisterSet kPackedRegisters =
    register_bit(kPc) | register_bit(kSp) | register_bit(kFp) | register_bit(kPackedOther);

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
  Registers registers;
  for (unsigned number = 0; number < kRegisterCount; ++number) {
    registers.value[number] = register_in(context, number);
  }
  return registers;
}

}  // namespace sampan::unwind

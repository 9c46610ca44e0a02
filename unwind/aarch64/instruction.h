// One machine instruction of AArch64, as far as a stack walk needs it: where control goes, and what it
// does to the stack pointer and to registers that hold addresses of the stack.
//
// Encodings: Arm Architecture Reference Manual for A-profile, C4.1 ("A64 instruction set encoding").
//
// Freestanding: linked into the target; async-signal-safe.
#pragma once

#include <cstdint>

namespace sampan::unwind {

enum class Operation : uint8_t {
  kInvalid,  // reserved for what is no instruction
  kOther,    // may set `to`, to what does not matter here
  kAddress,  // to = base + displacement: add, sub and mov
  kStore,    // *(base + displacement) = to, and the word behind it = second
  kLoad,     // the other way round
  kCall,
  kReturn,        // to what `base` holds
  kJump,          // by `displacement`, from this instruction
  kBranch,        // the same, on a condition
  kTailCall,      // through x16 or x17, as the PLT and compilers do: another function returns
  kIndirectJump,  // another: a switch, or a tail call
  kStop,          // nothing follows: a trap
};

struct Instruction {
  static constexpr uint8_t kNoRegister = 0xff;
  static constexpr uint8_t length = 4;  // in bytes

  Operation operation = Operation::kOther;
  uint8_t to = kNoRegister;      // by DWARF's numbers
  uint8_t second = kNoRegister;  // of a pair
  uint8_t base = kNoRegister;
  int64_t displacement = 0;
  int64_t before = 0, after = 0;  // what a load or a store adds to its base, before or after it

  // The target of a jump or a branch at this pc.
  constexpr uint64_t target(uint64_t pc) const { return pc + static_cast<uint64_t>(displacement); }
};

Instruction decode(uint32_t code);

}  // namespace sampan::unwind

// One machine instruction, as far as a stack walk needs it: how long it is, where control goes, and
// what it does to the stack pointer and to registers that hold addresses of the stack.
//
// Encodings: Intel SDM volume 2, chapter 2 and appendix A ("Opcode Map"), VEX and EVEX included.
//
// Freestanding: linked into the target; async-signal-safe.
#pragma once

#include <cstdint>
#include <span>

namespace sampan::unwind {

enum class Operation : uint8_t {
  kInvalid,  // no instruction that is known
  kOther,    // what does not matter here
  kPush,     // 8 bytes
  kPop,      // into `to`
  kMove,     // to = base
  kAddress,  // to = base + displacement: lea; of rsp, also add and sub
  kLoad,     // to = *(base + displacement)
  kAlign,    // rsp &= displacement
  kSetsSp,   // rsp becomes what the instruction alone does not say
  kLeave,
  kCall,
  kReturn,    // and releases `displacement` bytes of arguments
  kJump,      // by `displacement`, from the next instruction
  kBranch,    // the same, on a condition
  kTailCall,  // a jump through a slot at a fixed place, as the PLT has: another function returns
  kIndirectJump,  // another: a switch, or a tail call
  kStop,          // nothing follows: a trap
};

struct Instruction {
  static constexpr uint8_t kNoRegister = 0xff;

  Operation operation = Operation::kInvalid;
  uint8_t length = 0;          // in bytes
  uint8_t to = kNoRegister;    // by DWARF's numbers
  uint8_t base = kNoRegister;  // the same
  int64_t displacement = 0;

  // The target of a jump or a branch at this pc.
  constexpr uint64_t target(uint64_t pc) const {
    return pc + length + static_cast<uint64_t>(displacement);
  }
};

inline constexpr unsigned kLongestInstruction = 15;  // SDM 2.3.11

// The instruction that `code` begins with. Bytes that are not there may be anything: whether they
// belong to the instruction, its length tells.
Instruction decode(std::span<const uint8_t, 16> code);

}  // namespace sampan::unwind

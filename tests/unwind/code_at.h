// What a test asks of the machine code at an address.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "unwind/registers.h"

#if defined(__aarch64__)
#include "unwind/aarch64/instruction.h"
#else
#include "unwind/x86_64/instruction.h"
#endif

namespace sampan::unwind {

struct CodeAt {
  unsigned length;  // in bytes; 0: no instruction
  bool is_call;
  bool is_padding;  // never executed, and covered by the row of what is before it
};

#if defined(__aarch64__)

// What stands before a return address.
inline constexpr uint64_t kAnyCall = 0x9400'0000'0000'0000;

inline Instruction instruction_at(uint64_t pc) {
  uint32_t code;
  std::memcpy(&code, reinterpret_cast<const void*>(pc), sizeof code);
  return decode(code);
}

inline CodeAt code_at(uint64_t pc) {
  constexpr uint32_t kNop = 0xd503'201f;
  uint32_t code;
  std::memcpy(&code, reinterpret_cast<const void*>(pc), sizeof code);
  const Operation operation = decode(code).operation;
  return {operation == Operation::kInvalid ? 0 : Instruction::length, operation == Operation::kCall,
          code == kNop || code == 0};
}

inline constexpr int64_t kPushedByCall = 0;

// By how many bytes the instruction lowers the stack pointer; nothing where it does not say, or control may go
// elsewhere.
inline std::optional<int64_t> stack_growth(uint64_t pc) {
  const Instruction instruction = instruction_at(pc);
  switch (instruction.operation) {
    case Operation::kAddress:
      if (instruction.to != kSp) return 0;
      if (instruction.base != kSp) return std::nullopt;
      return -instruction.displacement;
    case Operation::kStore:
    case Operation::kLoad:
    case Operation::kOther:
      if (instruction.to == kSp) return std::nullopt;
      return instruction.base == kSp ? -instruction.before - instruction.after : 0;
    default: return std::nullopt;
  }
}

#else

inline constexpr uint64_t kAnyCall = 0xe8'00'00'00;

inline Instruction instruction_at(uint64_t pc) {
  return decode(std::span<const uint8_t, 16>(reinterpret_cast<const uint8_t*>(pc), 16));
}

inline CodeAt code_at(uint64_t pc) {
  const Instruction instruction = instruction_at(pc);
  if (instruction.operation == Operation::kInvalid) return {};
  const auto* code = reinterpret_cast<const uint8_t*>(pc);
  while (*code == 0x66 || *code == 0x2e) ++code;
  const bool is_padding = *code == 0x90 || (code[0] == 0x0f && code[1] == 0x1f);
  return {instruction.length, instruction.operation == Operation::kCall, is_padding};
}

inline constexpr int64_t kPushedByCall = 8;

inline std::optional<int64_t> stack_growth(uint64_t pc) {
  const Instruction instruction = instruction_at(pc);
  switch (instruction.operation) {
    case Operation::kPush: return 8;
    case Operation::kAddress:
      if (instruction.to != kRsp) return 0;
      if (instruction.base != kRsp) return std::nullopt;
      return -instruction.displacement;
    case Operation::kMove:
    case Operation::kLoad:
      if (instruction.to == kRsp) return std::nullopt;
      return 0;
    case Operation::kOther: return 0;
    default: return std::nullopt;
  }
}

#endif

}  // namespace sampan::unwind

#include "attach/prologue.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "unwind/registers.h"

namespace sampan::attach {
namespace {

using unwind::CfiRow;
using unwind::RegisterRule;

// Longer prologues save vector registers, or initialize arrays.
constexpr size_t kLongestPrologue = 96;
constexpr std::array<uint8_t, 3> kFramePointer = {0x48, 0x89, 0xe5};  // mov %rsp, %rbp
constexpr std::array<uint8_t, 3> kSubtractByte = {0x48, 0x83, 0xec};  // sub $imm8, %rsp
constexpr std::array<uint8_t, 3> kSubtract = {0x48, 0x81, 0xec};      // sub $imm32, %rsp

using PrologueBytes = std::array<uint8_t, kLongestPrologue>;

// Zeros where it cannot be read.
PrologueBytes read_code(RemoteMemory& memory, uint64_t avma) {
  PrologueBytes code{};
  for (size_t i = 0; i < code.size(); i += 8) {
    uint64_t word = 0;
    if (!memory.read(avma + i, word)) break;
    std::memcpy(code.data() + i, &word, sizeof word);
  }
  return code;
}

// What was pushed below the saved frame pointer, which lies 16 bytes below the CFA.
uint64_t pushed_bytes(const CfiRow& row) {
  int32_t lowest = -16;
  for (const RegisterRule& rule : row.registers) {
    if (rule.kind() == RegisterRule::kOffset) lowest = std::min(lowest, rule.value());
  }
  return static_cast<uint64_t>(-16 - lowest);
}

}  // namespace

uint64_t bytes_below_frame_pointer(RemoteMemory& memory, uint64_t start, const CfiRow& row) {
  const bool has_frame_pointer = row.cfa_kind == CfiRow::kCfaRegister &&
                                 row.cfa_register == unwind::kRbp && row.cfa_value == 16;
  if (!has_frame_pointer) return 0;
  const PrologueBytes code = read_code(memory, start);
  const auto at = std::search(code.begin(), code.end(), kFramePointer.begin(), kFramePointer.end());
  for (auto byte = at; code.end() - byte >= 7; ++byte) {
    if (std::equal(kSubtractByte.begin(), kSubtractByte.end(), byte)) {
      return pushed_bytes(row) + byte[3];
    }
    if (std::equal(kSubtract.begin(), kSubtract.end(), byte)) {
      uint32_t size;
      std::memcpy(&size, &byte[3], sizeof size);
      return pushed_bytes(row) + size;
    }
  }
  return at == code.end() ? 0 : pushed_bytes(row);
}

}  // namespace sampan::attach

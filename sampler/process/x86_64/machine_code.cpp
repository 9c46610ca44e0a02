// Encodings: Intel SDM volume 2, "CALL" and "SUB".
#include "sampler/process/machine_code.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "unwind/call_site.h"
#include "unwind/registers.h"

namespace sampan::sampler {
namespace {

// The eight bytes from `avma` on; zeros for those that cannot be read.
std::array<uint8_t, 8> bytes_at(RemoteMemory& memory, uint64_t avma) {
  uint64_t word = 0;
  memory.read(avma, word);
  std::array<uint8_t, 8> bytes;
  std::memcpy(bytes.data(), &word, sizeof word);
  return bytes;
}

uint64_t relative(const uint8_t* bytes, uint64_t next) {
  int32_t distance;
  std::memcpy(&distance, bytes, sizeof distance);
  return next + static_cast<uint64_t>(int64_t{distance});
}

// jmp *slot(%rip), perhaps with endbr64 and bnd before it.
uint64_t through_stub(RemoteMemory& memory, uint64_t target) {
  std::array<uint8_t, 8> bytes = bytes_at(memory, target);
  constexpr uint8_t kEndbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
  uint64_t at = target;
  if (std::memcmp(bytes.data(), kEndbr64, sizeof kEndbr64) == 0) {
    at += sizeof kEndbr64;
    bytes = bytes_at(memory, at);
  }
  if (bytes[0] == 0xf2) bytes = bytes_at(memory, ++at);
  uint64_t function = 0;
  if (bytes[0] != 0xff || bytes[1] != 0x25) return target;
  return memory.read(relative(&bytes[2], at + 6), function) ? function : target;
}

using unwind::CfiRow;
using unwind::RegisterRule;

// Longer prologues save vector registers, or initialize arrays.
constexpr size_t kLongestPrologue = 96;
constexpr std::array<uint8_t, 3> kFramePointer = {0x48, 0x89, 0xe5};  // mov %rsp, %rbp
constexpr std::array<uint8_t, 3> kSubtractByte = {0x48, 0x83, 0xec};  // sub $imm8, %rsp
constexpr std::array<uint8_t, 3> kSubtract = {0x48, 0x81, 0xec};      // sub $imm32, %rsp

using PrologueBytes = std::array<uint8_t, kLongestPrologue>;

// Zeros for bytes that cannot be read.
PrologueBytes read_code(RemoteMemory& memory, uint64_t avma) {
  PrologueBytes code{};
  for (size_t i = 0; i < code.size(); i += 8) {
    uint64_t word = 0;
    if (!memory.read(avma + i, word)) break;
    std::memcpy(code.data() + i, &word, sizeof word);
  }
  return code;
}

// Bytes that were pushed below the saved frame pointer, which lies 16 bytes below the CFA.
uint64_t pushed_bytes(const CfiRow& row) {
  int32_t lowest = -16;
  for (const RegisterRule& rule : row.registers) {
    if (rule.kind() == RegisterRule::kOffset) lowest = std::min(lowest, rule.value());
  }
  return static_cast<uint64_t>(-16 - lowest);
}

}  // namespace

std::optional<CallBefore> call_before(RemoteMemory& memory, uint64_t return_address) {
  constexpr uint8_t kModrmRipRelative = 0x15;
  uint64_t before = 0;
  memory.read(return_address - sizeof before, before);
  const unsigned length = unwind::call_length(before);
  if (length == 0) return std::nullopt;
  std::array<uint8_t, 8> bytes;
  std::memcpy(bytes.data(), &before, sizeof before);
  const uint8_t* const call = bytes.data() + bytes.size() - length;
  if (length == unwind::kRelativeCallLength) {
    return CallBefore{through_stub(memory, relative(call + 1, return_address))};
  }
  uint64_t target = 0;
  if (call[1] == kModrmRipRelative) memory.read(relative(call + 2, return_address), target);
  return CallBefore{target};
}

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

}  // namespace sampan::sampler

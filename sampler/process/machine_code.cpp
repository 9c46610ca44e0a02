#include "sampler/process/machine_code.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "unwind/registers.h"

namespace sampan::sampler {
namespace {

constexpr uint8_t kCallRelative = 0xe8;
constexpr uint8_t kGroup5 = 0xff;  // with 2 in the middle of the ModRM byte: call

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

// Length of an indirect call, from its ModRM byte and the next one; 0: it is none.
unsigned length_of_indirect(uint8_t modrm, uint8_t sib) {
  if ((modrm >> 3 & 7) != 2) return 0;
  const unsigned mode = modrm >> 6;
  const unsigned register_or_memory = modrm & 7;
  if (mode == 3) return 2;
  const bool has_sib = register_or_memory == 4;
  const bool has_long_displacement =
      mode == 2 || (mode == 0 && (register_or_memory == 5 || (has_sib && (sib & 7) == 5)));
  return 2 + has_sib + (has_long_displacement ? 4 : mode == 1 ? 1 : 0);
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
  const std::array<uint8_t, 8> bytes = bytes_at(memory, return_address - 8);
  const uint8_t* const end = bytes.data() + bytes.size();
  if (*(end - 5) == kCallRelative) {
    return CallBefore{through_stub(memory, relative(end - 4, return_address))};
  }
  for (const unsigned length : {2u, 3u, 4u, 6u, 7u}) {
    const uint8_t* const call = end - length;
    if (call[0] != kGroup5 || length_of_indirect(call[1], length > 2 ? call[2] : 0) != length) {
      continue;
    }
    uint64_t target = 0;
    if (call[1] == 0x15) memory.read(relative(call + 2, return_address), target);
    return CallBefore{target};
  }
  return std::nullopt;
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

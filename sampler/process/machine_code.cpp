#include "attach/return_address.h"

#include <array>
#include <cstring>

namespace sampan::attach {
namespace {

constexpr uint8_t kCallRelative = 0xe8;
constexpr uint8_t kGroup5 = 0xff;  // with 2 in the middle of the ModRM byte: call

// The eight bytes from `avma` on; zeros where they cannot be read.
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

// Length of an indirect call, from its ModRM byte and the one behind it; 0: it is none.
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

// endbr64, bnd and jmp *slot(%rip), the first two perhaps.
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

}  // namespace sampan::attach

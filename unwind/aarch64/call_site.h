// The calls of AArch64.
//
// Encodings: Arm Architecture Reference Manual for A-profile, C6.2: BL, BLR, BLRAA.
//
// Freestanding: linked into the target.
#pragma once

#include <cstdint>

namespace sampan::unwind {

inline constexpr unsigned kRelativeCallLength = 4;

constexpr bool is_relative_call(uint32_t instruction) {
  return (instruction & 0xfc00'0000) == 0x9400'0000;
}

// The length of the call that ends before an address; 0: none does. `before`: the eight bytes below the
// address, the last one highest.
constexpr unsigned call_length(uint64_t before) {
  const auto instruction = static_cast<uint32_t>(before >> 32);
  const bool by_register = (instruction & 0xffff'fc1f) == 0xd63f'0000;
  const bool authenticated = (instruction & 0xfeff'f800) == 0xd63f'0800;
  return is_relative_call(instruction) || by_register || authenticated ? 4 : 0;
}

// No code is known that calls by a jump, with a return address of its own.
constexpr bool is_pushed_return(uint64_t /*before*/, uint64_t /*after*/) {
  return false;
}

// make_fcontext plants a function without a frame record, where follow_frame_pointer ends.
constexpr bool is_exit_call(uint64_t /*before*/, uint64_t /*at*/, uint64_t /*at_8*/) {
  return false;
}

}  // namespace sampan::unwind

// The calls of x86-64.
//
// Encodings: Intel SDM 2, CALL, and "Instruction Format".
//
// Freestanding: linked into the target.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace sampan::unwind {

// A register that is ModRM's memory operand, followed by its displacement. 0: not an indirect call.
constexpr unsigned indirect_call_length(uint8_t modrm, uint8_t sib) {
  if ((modrm >> 3 & 7) != 2) return 0;
  const unsigned mode = modrm >> 6;
  const unsigned register_or_memory = modrm & 7;
  if (mode == 3) return 2;
  const bool has_sib = register_or_memory == 4;
  const bool has_long_displacement =
      mode == 2 || (mode == 0 && (register_or_memory == 5 || (has_sib && (sib & 7) == 5)));
  return 2 + has_sib + (has_long_displacement ? 4 : mode == 1 ? 1 : 0);
}

inline constexpr unsigned kRelativeCallLength = 5;

// The length of the call that ends before an address, without prefixes; 0: none does. `before`: the
// eight bytes below the address, the last one highest.
constexpr unsigned call_length(uint64_t before) {
  constexpr uint8_t kCallRelative = 0xe8;
  constexpr uint8_t kGroup5 = 0xff;  // with 2 in the middle of the ModRM byte: call
  const auto byte = [before](unsigned from_end) {
    return static_cast<uint8_t>(before >> (64 - 8 * from_end));
  };
  if (byte(kRelativeCallLength) == kCallRelative) return kRelativeCallLength;
  for (const unsigned length : {2u, 3u, 4u, 6u, 7u}) {
    const uint8_t sib = length > 2 ? byte(length - 2) : 0;
    if (byte(length) == kGroup5 && indirect_call_length(byte(length - 1), sib) == length) {
      return length;
    }
  }
  return 0;
}

// Whether code is one that calls by a jump, with a return address that it has pushed itself: it
// goes on at `after`, the eight bytes from the address on, the first one lowest. HotSpot's
// interpreter restores its stack pointer from the frame first (mov -16(%rbp),%rsp:
// TemplateInterpreterGenerator::generate_return_entry_for). Go's goroutines begin with a return
// into goexit, behind its first nop (runtime/asm_amd64.s).
constexpr bool is_pushed_return(uint64_t before, uint64_t after) {
  constexpr uint64_t kRestoreStackPointer = 0xf0'65'8b'48;
  constexpr uint64_t kNop = 0x90, kCallRelative = 0xe8;
  return (after & 0xffffffff) == kRestoreStackPointer ||
         (before >> 56 == kNop && (after & 0xff) == kCallRelative);
}

// Whether code at a return address that no call has pushed ends the process: `xor %edi, %edi; call _exit; hlt`, with
// a REX prefix or without (Boost.Context's make_fcontext). `at`: the bytes from the address on, the first one lowest.
constexpr bool is_exit_call(uint64_t before, uint64_t at, uint64_t at_8) {
  constexpr uint64_t kXorEdi = 0xe8'ff'31, kRexXorEdi = 0xe8'ff'31'48, kHalt = 0xf4;
  if (call_length(before) != 0) return false;
  if ((at & 0xffffffff) == kRexXorEdi) return (at_8 & 0xff) == kHalt;
  return (at & 0xffffff) == kXorEdi && at >> 56 == kHalt;
}

}  // namespace sampan::unwind

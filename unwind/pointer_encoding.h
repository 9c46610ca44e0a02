// Pointers in .eh_frame and .eh_frame_hdr. A byte says how they are encoded (Linux Standard Base
// Core 5.0, 10.5.1, DW_EH_PE_*): the low four bits are the format, the next three say what the value
// is relative to, and the highest says that the value is the pointer's address.
//
// Freestanding: linked into the target.
#pragma once

#include <cstdint>

#include "unwind/image.h"

namespace sampan::unwind {

inline constexpr uint8_t kPointerAbsolute = 0x00;  // eight bytes, as they are
inline constexpr uint8_t kPointerOmitted = 0xff;
inline constexpr uint8_t kPointerFormat = 0x0f;
inline constexpr uint8_t kPointerBase = 0x70;
inline constexpr uint8_t kPointerIndirect = 0x80;
inline constexpr uint8_t kPointerDataRelativeSigned4 = 0x3b;

// The value in the format of `encoding`, not made absolute. An unknown format fails the cursor.
[[gnu::noinline]] inline uint64_t read_pointer_value(ByteCursor& bytes, uint8_t encoding) {
  switch (encoding & kPointerFormat) {
    case 0x00:
    case 0x04:
    case 0x0c: return bytes.u64();
    case 0x01: return bytes.uleb();
    case 0x02: return bytes.u16();
    case 0x03: return bytes.u32();
    case 0x09: return static_cast<uint64_t>(bytes.sleb());
    case 0x0a: return static_cast<uint64_t>(int64_t{bytes.fixed<int16_t>()});
    case 0x0b: return static_cast<uint64_t>(int64_t{bytes.fixed<int32_t>()});
    default: bytes.fail(); return 0;
  }
}

// An AVMA. `data_base` is what a data-relative pointer counts from: the start of .eh_frame_hdr.
inline uint64_t read_pointer(ImageCursor& cursor, uint8_t encoding, uint64_t data_base) {
  const uint64_t field = cursor.avma();
  const uint64_t value = read_pointer_value(cursor.bytes, encoding);
  if ((encoding & kPointerIndirect) != 0) cursor.bytes.fail();
  switch (encoding & kPointerBase) {
    case 0x00: return value;
    case 0x10: return field + value;
    case 0x30: return data_base + value;
    default: cursor.bytes.fail(); return 0;
  }
}

}  // namespace sampan::unwind

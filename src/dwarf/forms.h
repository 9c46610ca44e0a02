// How values of attributes are encoded (DWARF 5, 7.5.6), and the extensions of GNU for split files
// and dwz.
#pragma once

#include <compare>
#include <cstdint>

#include "base/byte_cursor.h"

namespace sampan::dwarf {

// What the length of some forms depends on. Of one unit.
struct Encoding {
  uint16_t version = 0;
  uint8_t address_size = 8;
  uint8_t offset_size = 4;  // 8 in the 64-bit format
  friend auto operator<=>(const Encoding&, const Encoding&) = default;
};

struct AttributeSpec {
  AttributeSpec() = default;
  AttributeSpec(uint64_t name, uint64_t form, const Encoding& encoding);
  uint16_t name = 0;
  uint16_t form = 0;
  uint8_t size = kNoSize;  // of the form, where it is always the same
  int64_t implicit = 0;    // of DW_FORM_implicit_const
  static constexpr uint8_t kNoSize = 0xff;
};

// A value as it is written: what `number` means is for who knows the form. Of text in place it is
// the size before the text, of a block its size.
struct Value {
  uint16_t form = 0;  // 0: no value
  uint64_t number = 0;
  const char* text = nullptr;  // of DW_FORM_string
  explicit operator bool() const { return form != 0; }
};

uint64_t read_offset(ByteCursor& cursor, const Encoding& encoding);
uint64_t read_address(ByteCursor& cursor, const Encoding& encoding);
// Fails the cursor for a form that is not known: then nothing behind it can be read.
Value read_value(ByteCursor& cursor, const Encoding& encoding, const AttributeSpec& spec);

}  // namespace sampan::dwarf

// How DIEs are encoded: attribute values (DWARF 5, 7.5.6), with GNU's extensions for split files and
// dwz, and the abbreviation tables of units (7.5.3), which say what each kind of DIE consists of.
//
// Most DIEs are skipped. How to skip one is worked out once for each abbreviation: a few steps, one
// of which jumps over all adjacent attributes of constant size.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "base/byte_cursor.h"
#include "symbolizer/dwarf/sections.h"

namespace sampan::dwarf {

// What the sizes of some forms depend on; the same for a whole unit.
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
  uint8_t size = kNoSize;  // of the form, if it is constant
  int64_t implicit = 0;    // for DW_FORM_implicit_const
  static constexpr uint8_t kNoSize = 0xff;
};

// A value as it is written; the form says what `number` means. For a string in place it is 0 and
// `text` is set; for a block it is the size.
struct Value {
  uint16_t form = 0;  // 0: no value
  uint64_t number = 0;
  const char* text = nullptr;  // for DW_FORM_string
  explicit operator bool() const { return form != 0; }
};

uint64_t read_offset(ByteCursor& cursor, const Encoding& encoding);
uint64_t read_address(ByteCursor& cursor, const Encoding& encoding);
// Fails the cursor when the form is unknown: nothing after it can be read.
Value read_value(ByteCursor& cursor, const Encoding& encoding, const AttributeSpec& spec);

struct SkipStep {
  enum Kind : uint8_t { kBytes, kLeb, kText, kBlock1, kBlock2, kBlock4, kBlock, kSibling, kOther };
  Kind kind;
  uint16_t form;   // for kSibling and kOther
  uint32_t bytes;  // for kBytes
};

struct Abbreviation {
  uint64_t code = 0;
  uint16_t tag = 0;
  bool has_children = false;
  bool has_code = false;  // it has an attribute with its address
  uint32_t first_attribute = 0, attribute_count = 0;
  uint32_t first_step = 0, step_count = 0;
};

class Abbreviations {
 public:
  // Stops at the first entry that is invalid; units that need more entries are damaged.
  Abbreviations(Bytes section, uint64_t offset, const Encoding& encoding);

  const Abbreviation* find(uint64_t code) const {
    // Compilers number entries from 1.
    if (code - 1 < entries_.size() && entries_[code - 1].code == code) return &entries_[code - 1];
    return find_elsewhere(code);
  }
  std::span<const AttributeSpec> attributes(const Abbreviation& entry) const {
    return std::span(attributes_).subspan(entry.first_attribute, entry.attribute_count);
  }
  std::span<const SkipStep> steps(const Abbreviation& entry) const {
    return std::span(steps_).subspan(entry.first_step, entry.step_count);
  }

 private:
  void add_step(const AttributeSpec& attribute, size_t first);
  const Abbreviation* find_elsewhere(uint64_t code) const;

  std::vector<Abbreviation> entries_;  // by code
  std::vector<AttributeSpec> attributes_;
  std::vector<SkipStep> steps_;
};

}  // namespace sampan::dwarf

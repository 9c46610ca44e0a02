// One compilation unit: its header, the attributes of its root DIE that others depend on, and
// access to any DIE in it.
//
// Offsets are offsets in .debug_info unless stated otherwise. A unit does not change after it was
// opened, so any number of threads may read it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "symbolizer/dwarf/die_encoding.h"
#include "symbolizer/dwarf/sections.h"

namespace sampan::dwarf {

struct Range {
  uint64_t begin, end;
};

struct Die {
  uint64_t offset = 0;
  uint64_t attributes = 0;               // offset of its attributes
  const Abbreviation* abbrev = nullptr;  // null: the end of a list of siblings
};

struct UnitHeader {
  uint64_t offset = 0;
  uint64_t end = 0;  // of the unit
  uint64_t die = 0;  // the root DIE
  Encoding encoding;
  uint8_t type = 0;  // DW_UT_compile before DWARF 5
  uint64_t abbreviations = 0;
  uint64_t dwo_id = 0;
};

// The header at an offset; none if it is invalid.
std::optional<UnitHeader> read_unit_header(Bytes info, uint64_t offset);

class Unit {
 public:
  Unit(const Sections& sections, const Sections* supplementary, const UnitHeader& header,
       std::shared_ptr<const Abbreviations> abbreviations, const Unit* skeleton = nullptr);

  const UnitHeader& header() const { return header_; }
  const Sections& sections() const { return sections_; }
  const Die& root() const { return root_; }
  const char* name() const { return name_; }
  const char* directory() const { return directory_; }  // compilation directory
  const char* dwo_name() const { return dwo_name_; }    // null: not a split unit
  uint64_t dwo_id() const { return dwo_id_; }
  std::optional<uint64_t> line_offset() const { return line_offset_; }
  unsigned language() const { return language_; }

  // False if there is no DIE: the unit is damaged, or ends there.
  bool read(uint64_t offset, Die* die) const;
  // Returns the offset after the DIE's attributes, and in `sibling` its DW_AT_sibling (0 without
  // one). Returns 0 when they cannot be read.
  uint64_t skip_attributes(const Die& die, uint64_t* sibling) const;
  // The offset after the DIE and everything below it; 0 when that cannot be read.
  uint64_t skip(const Die& die) const;

  // Calls function(name, Value) for each attribute. Returns the offset after them, or 0.
  template <typename Function>
  uint64_t for_each_attribute(const Die& die, Function function) const {
    ByteCursor cursor = cursor_at(die.attributes);
    for (const AttributeSpec& spec : abbreviations_->attributes(*die.abbrev)) {
      const Value value = read_value(cursor, header_.encoding, spec);
      if (!cursor.ok()) return 0;
      function(spec.name, value);
    }
    return die.attributes + cursor.offset();
  }

  const char* text(const Value& value) const;
  std::optional<uint64_t> address(const Value& value) const;
  // Appends the address ranges of code that the linker kept, from DW_AT_low_pc and DW_AT_high_pc,
  // or DW_AT_ranges.
  void ranges(const Value& low, const Value& high, const Value& list,
              std::vector<Range>* ranges) const;

 private:
  ByteCursor cursor_at(uint64_t offset) const {
    return ByteCursor(bytes_from(sections_.info.first(header_.end), offset));
  }
  void read_root(const Unit* skeleton);
  std::optional<uint64_t> indexed_address(uint64_t index) const;
  void range_list(uint64_t offset, std::vector<Range>* ranges) const;    // .debug_ranges
  void range_list_5(uint64_t offset, std::vector<Range>* ranges) const;  // .debug_rnglists

  const Sections& sections_;
  const Sections* supplementary_;
  UnitHeader header_;
  std::shared_ptr<const Abbreviations> abbreviations_;
  Bytes addresses_;   // .debug_addr; the skeleton's if the unit is split
  Bytes old_ranges_;  // .debug_ranges; likewise
  Die root_;
  const char* name_ = nullptr;
  const char* directory_ = nullptr;
  const char* dwo_name_ = nullptr;
  uint64_t dwo_id_ = 0;
  std::optional<uint64_t> line_offset_;
  unsigned language_ = 0;
  uint64_t low_pc_ = 0;
  uint64_t addr_base_ = 0, str_offsets_base_ = 0, rnglists_base_ = 0;
  uint64_t ranges_base_ = 0;  // of .debug_ranges; 0 but in a split unit
  uint64_t split_ranges_base_ =
      0;  // what a skeleton gives its split unit, and has no use of itself
};

}  // namespace sampan::dwarf

// The table of abbreviations of a unit (DWARF 5, 7.5.3): what each kind of DIE consists of.
//
// Most DIEs are passed over. How to do that is worked out once for each abbreviation: a few steps,
// of which one jumps over all neighbours of constant size.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dwarf/forms.h"
#include "dwarf/sections.h"

namespace sampan::dwarf {

struct SkipStep {
  enum Kind : uint8_t { kBytes, kLeb, kText, kBlock1, kBlock2, kBlock4, kBlock, kSibling, kOther };
  Kind kind;
  uint16_t form;   // of kSibling and kOther
  uint32_t bytes;  // of kBytes
};

struct Abbreviation {
  uint64_t code = 0;
  uint16_t tag = 0;
  bool has_children = false;
  bool has_code = false;  // an attribute that says where
  uint32_t first_attribute = 0, attribute_count = 0;
  uint32_t first_step = 0, step_count = 0;
};

class Abbreviations {
 public:
  // Ends at what makes no sense; the units that need more are damaged.
  Abbreviations(Bytes section, uint64_t offset, const Encoding& encoding);

  const Abbreviation* find(uint64_t code) const {
    // Compilers number them from 1.
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

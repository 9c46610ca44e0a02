#include "dwarf/abbreviations.h"

#include <dwarf.h>

#include <algorithm>

namespace sampan::dwarf {

Abbreviations::Abbreviations(Bytes section, uint64_t offset, const Encoding& encoding) {
  ByteCursor cursor(behind(section, offset));
  while (const uint64_t code = cursor.uleb()) {
    Abbreviation entry;
    entry.code = code;
    entry.tag = static_cast<uint16_t>(cursor.uleb());
    entry.has_children = cursor.u8() != 0;
    entry.first_attribute = static_cast<uint32_t>(attributes_.size());
    entry.first_step = static_cast<uint32_t>(steps_.size());
    while (cursor.ok()) {
      const uint64_t name = cursor.uleb();
      AttributeSpec attribute(name, cursor.uleb(), encoding);
      if (attribute.form == DW_FORM_implicit_const) attribute.implicit = cursor.sleb();
      if (attribute.name == 0 && attribute.form == 0) break;
      attributes_.push_back(attribute);
      add_step(attribute, entry.first_step);
      if (attribute.name == DW_AT_low_pc || attribute.name == DW_AT_ranges) entry.has_code = true;
    }
    if (!cursor.ok()) break;
    entry.attribute_count = static_cast<uint32_t>(attributes_.size()) - entry.first_attribute;
    entry.step_count = static_cast<uint32_t>(steps_.size()) - entry.first_step;
    entries_.push_back(entry);
  }
  // dwz writes them in any order.
  if (!std::ranges::is_sorted(entries_, {}, &Abbreviation::code)) {
    std::ranges::stable_sort(entries_, {}, &Abbreviation::code);
  }
}

void Abbreviations::add_step(const AttributeSpec& attribute, size_t first) {
  const auto add = [&](SkipStep::Kind kind, uint32_t bytes = 0) {
    steps_.push_back({kind, attribute.form, bytes});
  };
  if (attribute.name == DW_AT_sibling) return add(SkipStep::kSibling);
  if (attribute.size != AttributeSpec::kNoSize) {
    if (attribute.size == 0) return;
    if (steps_.size() > first && steps_.back().kind == SkipStep::kBytes) {
      steps_.back().bytes += attribute.size;
      return;
    }
    return add(SkipStep::kBytes, attribute.size);
  }
  switch (attribute.form) {
    case DW_FORM_udata:
    case DW_FORM_sdata:
    case DW_FORM_ref_udata:
    case DW_FORM_strx:
    case DW_FORM_addrx:
    case DW_FORM_loclistx:
    case DW_FORM_rnglistx:
    case DW_FORM_GNU_addr_index:
    case DW_FORM_GNU_str_index: return add(SkipStep::kLeb);
    case DW_FORM_string: return add(SkipStep::kText);
    case DW_FORM_block1: return add(SkipStep::kBlock1);
    case DW_FORM_block2: return add(SkipStep::kBlock2);
    case DW_FORM_block4: return add(SkipStep::kBlock4);
    case DW_FORM_block:
    case DW_FORM_exprloc: return add(SkipStep::kBlock);
    default: return add(SkipStep::kOther);
  }
}

const Abbreviation* Abbreviations::find_elsewhere(uint64_t code) const {
  const auto found = std::ranges::lower_bound(entries_, code, {}, &Abbreviation::code);
  return found != entries_.end() && found->code == code ? &*found : nullptr;
}

}  // namespace sampan::dwarf

#include "symbolizer/dwarf/die_encoding.h"

#include <dwarf.h>

#include <algorithm>
#include <cstring>

namespace sampan::dwarf {
namespace {

const char* read_text(ByteCursor& cursor) {
  ByteCursor rest = cursor;
  const auto bytes = rest.take(rest.remaining());
  const void* end = bytes.empty() ? nullptr : memchr(bytes.data(), 0, bytes.size());
  if (end == nullptr) {
    cursor.fail();
    return nullptr;
  }
  cursor.skip(static_cast<size_t>(static_cast<const uint8_t*>(end) - bytes.data()) + 1);
  return reinterpret_cast<const char*>(bytes.data());
}

uint64_t read_fixed(ByteCursor& cursor, uint32_t size) {
  switch (size) {
    case 0: return 1;  // DW_FORM_flag_present
    case 1: return cursor.u8();
    case 2: return cursor.u16();
    case 3: {
      const uint64_t low = cursor.u16();
      return low | uint64_t{cursor.u8()} << 16;
    }
    case 4: return cursor.u32();
    case 8: return cursor.u64();
    default: cursor.skip(size); return 0;
  }
}

uint64_t skip_block(ByteCursor& cursor, uint64_t size) {
  cursor.skip(size);
  return size;
}

uint8_t fixed_size(uint16_t form, const Encoding& encoding) {
  switch (form) {
    case DW_FORM_flag_present:
    case DW_FORM_implicit_const: return 0;
    case DW_FORM_data1:
    case DW_FORM_ref1:
    case DW_FORM_flag:
    case DW_FORM_strx1:
    case DW_FORM_addrx1: return 1;
    case DW_FORM_data2:
    case DW_FORM_ref2:
    case DW_FORM_strx2:
    case DW_FORM_addrx2: return 2;
    case DW_FORM_strx3:
    case DW_FORM_addrx3: return 3;
    case DW_FORM_data4:
    case DW_FORM_ref4:
    case DW_FORM_strx4:
    case DW_FORM_addrx4:
    case DW_FORM_ref_sup4: return 4;
    case DW_FORM_data8:
    case DW_FORM_ref8:
    case DW_FORM_ref_sig8:
    case DW_FORM_ref_sup8: return 8;
    case DW_FORM_data16: return 16;
    case DW_FORM_addr: return encoding.address_size;
    case DW_FORM_ref_addr:
      return encoding.version <= 2 ? encoding.address_size : encoding.offset_size;
    case DW_FORM_strp:
    case DW_FORM_line_strp:
    case DW_FORM_sec_offset:
    case DW_FORM_strp_sup:
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_GNU_strp_alt: return encoding.offset_size;
    default: return AttributeSpec::kNoSize;
  }
}

}  // namespace

AttributeSpec::AttributeSpec(uint64_t name_number, uint64_t form_number, const Encoding& encoding)
    : name(static_cast<uint16_t>(name_number)),
      form(static_cast<uint16_t>(form_number)),
      size(fixed_size(form, encoding)) {}

uint64_t read_offset(ByteCursor& cursor, const Encoding& encoding) {
  return encoding.offset_size == 8 ? cursor.u64() : cursor.u32();
}

uint64_t read_address(ByteCursor& cursor, const Encoding& encoding) {
  return encoding.address_size == 8 ? cursor.u64() : cursor.u32();
}

Value read_value(ByteCursor& cursor, const Encoding& encoding, const AttributeSpec& spec) {
  Value value{spec.form};
  if (spec.size != AttributeSpec::kNoSize) {
    value.number = spec.form == DW_FORM_implicit_const ? static_cast<uint64_t>(spec.implicit)
                                                       : read_fixed(cursor, spec.size);
    return value;
  }
  switch (spec.form) {
    case DW_FORM_udata:
    case DW_FORM_ref_udata:
    case DW_FORM_strx:
    case DW_FORM_addrx:
    case DW_FORM_loclistx:
    case DW_FORM_rnglistx:
    case DW_FORM_GNU_addr_index:
    case DW_FORM_GNU_str_index: value.number = cursor.uleb(); break;
    case DW_FORM_sdata: value.number = static_cast<uint64_t>(cursor.sleb()); break;
    case DW_FORM_string: value.text = read_text(cursor); break;
    case DW_FORM_block1: value.number = skip_block(cursor, cursor.u8()); break;
    case DW_FORM_block2: value.number = skip_block(cursor, cursor.u16()); break;
    case DW_FORM_block4: value.number = skip_block(cursor, cursor.u32()); break;
    case DW_FORM_block:
    case DW_FORM_exprloc: value.number = skip_block(cursor, cursor.uleb()); break;
    case DW_FORM_indirect: {
      const uint64_t form = cursor.uleb();
      // An indirect form of these kinds is invalid.
      if (form == DW_FORM_indirect || form == DW_FORM_implicit_const || form > UINT16_MAX) break;
      return read_value(cursor, encoding, {spec.name, form, encoding});
    }
    default: cursor.fail(); break;
  }
  return value;
}

Abbreviations::Abbreviations(Bytes section, uint64_t offset, const Encoding& encoding) {
  ByteCursor cursor(bytes_from(section, offset));
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
  // dwz does not sort them.
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

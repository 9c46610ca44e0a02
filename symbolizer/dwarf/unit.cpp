#include "symbolizer/dwarf/unit.h"

#include <dwarf.h>

#include <algorithm>

namespace sampan::dwarf {
namespace {

// Signed or unsigned, of any length.
void skip_leb(ByteCursor& cursor) {
  while (cursor.u8() >= 0x80) {
  }
}

// Code that the linker discarded has ranges that begin at 0, or end before they begin.
void add(uint64_t begin, uint64_t end, std::vector<Range>* ranges) {
  if (begin != 0 && begin < end) ranges->push_back({begin, end});
}

}  // namespace

std::optional<UnitHeader> read_unit_header(Bytes info, uint64_t offset) {
  ByteCursor cursor(bytes_from(info, offset));
  UnitHeader header;
  header.offset = offset;
  uint64_t length = cursor.u32();
  if (length == 0xffffffff) {
    header.encoding.offset_size = 8;
    length = cursor.u64();
  }
  if (!cursor.ok() || length > cursor.remaining()) return std::nullopt;
  header.end = offset + cursor.offset() + length;
  header.encoding.version = cursor.u16();
  if (header.encoding.version < 2 || header.encoding.version > 5) return std::nullopt;
  header.type = DW_UT_compile;
  if (header.encoding.version == 5) {
    header.type = cursor.u8();
    header.encoding.address_size = cursor.u8();
    header.abbreviations = read_offset(cursor, header.encoding);
    if (header.type == DW_UT_skeleton || header.type == DW_UT_split_compile) {
      header.dwo_id = cursor.u64();
    } else if (header.type == DW_UT_type || header.type == DW_UT_split_type) {
      cursor.skip(size_t{8} + header.encoding.offset_size);
    }
  } else {
    header.abbreviations = read_offset(cursor, header.encoding);
    header.encoding.address_size = cursor.u8();
  }
  header.die = offset + cursor.offset();
  const uint8_t size = header.encoding.address_size;
  if (!cursor.ok() || header.die > header.end || (size != 4 && size != 8)) return std::nullopt;
  return header;
}

Unit::Unit(const Sections& sections, const Sections* supplementary, const UnitHeader& header,
           std::shared_ptr<const Abbreviations> abbreviations, const Unit* skeleton)
    : sections_(sections),
      supplementary_(supplementary),
      header_(header),
      abbreviations_(std::move(abbreviations)),
      addresses_(skeleton != nullptr ? skeleton->addresses_ : sections.addr),
      old_ranges_(skeleton != nullptr ? skeleton->old_ranges_ : sections.ranges),
      dwo_id_(header.dwo_id) {
  read_root(skeleton);
}

void Unit::read_root(const Unit* skeleton) {
  if (skeleton != nullptr) {
    addr_base_ = skeleton->addr_base_;
    ranges_base_ = skeleton->split_ranges_base_;
    low_pc_ = skeleton->low_pc_;
    directory_ = skeleton->directory_;
    if (header_.encoding.version == 5) {  // the first tables of the sections, after their headers
      str_offsets_base_ = header_.encoding.offset_size == 8 ? 16 : 8;
      rnglists_base_ = header_.encoding.offset_size == 8 ? 20 : 12;
    }
  }
  if (!read(header_.die, &root_)) {
    root_ = {};
    return;
  }
  Value name, directory, dwo_name, low;
  for_each_attribute(root_, [&](uint16_t attribute, const Value& value) {
    switch (attribute) {
      case DW_AT_name: name = value; break;
      case DW_AT_comp_dir: directory = value; break;
      case DW_AT_dwo_name:
      case DW_AT_GNU_dwo_name: dwo_name = value; break;
      case DW_AT_GNU_dwo_id: dwo_id_ = value.number; break;
      case DW_AT_stmt_list: line_offset_ = value.number; break;
      case DW_AT_language: language_ = static_cast<unsigned>(value.number); break;
      case DW_AT_low_pc: low = value; break;
      case DW_AT_addr_base:
      case DW_AT_GNU_addr_base: addr_base_ = value.number; break;
      case DW_AT_str_offsets_base: str_offsets_base_ = value.number; break;
      case DW_AT_rnglists_base: rnglists_base_ = value.number; break;
      case DW_AT_GNU_ranges_base: split_ranges_base_ = value.number; break;
      default: break;
    }
  });
  // Values in other sections can be read only after their bases are known.
  name_ = text(name);
  if (directory) directory_ = text(directory);
  dwo_name_ = text(dwo_name);
  if (low) low_pc_ = address(low).value_or(0);
}

bool Unit::read(uint64_t offset, Die* die) const {
  if (offset < header_.die || offset >= header_.end) return false;
  ByteCursor cursor = cursor_at(offset);
  const uint64_t code = cursor.uleb();
  if (!cursor.ok()) return false;
  die->offset = offset;
  die->attributes = offset + cursor.offset();
  die->abbrev = code != 0 ? abbreviations_->find(code) : nullptr;
  return code == 0 || die->abbrev != nullptr;
}

uint64_t Unit::skip_attributes(const Die& die, uint64_t* sibling) const {
  ByteCursor cursor = cursor_at(die.attributes);
  *sibling = 0;
  for (const SkipStep& step : abbreviations_->steps(*die.abbrev)) {
    switch (step.kind) {
      case SkipStep::kBytes: cursor.skip(step.bytes); break;
      case SkipStep::kLeb: skip_leb(cursor); break;
      case SkipStep::kBlock1: cursor.skip(cursor.u8()); break;
      case SkipStep::kBlock2: cursor.skip(cursor.u16()); break;
      case SkipStep::kBlock4: cursor.skip(cursor.u32()); break;
      case SkipStep::kBlock: cursor.skip(cursor.uleb()); break;
      case SkipStep::kSibling: {
        const Value value =
            read_value(cursor, header_.encoding, {DW_AT_sibling, step.form, header_.encoding});
        const bool is_absolute = value.form == DW_FORM_ref_addr;
        *sibling = is_absolute ? value.number : header_.offset + value.number;
        break;
      }
      case SkipStep::kText:
        read_value(cursor, header_.encoding, {0, DW_FORM_string, header_.encoding});
        break;
      case SkipStep::kOther:
        read_value(cursor, header_.encoding, {0, step.form, header_.encoding});
        break;
    }
  }
  if (!cursor.ok()) return 0;
  const uint64_t end = die.attributes + cursor.offset();
  // A sibling must be further on: every step goes towards the end.
  if (*sibling < end || *sibling > header_.end) *sibling = 0;
  return end;
}

uint64_t Unit::skip(const Die& first) const {
  Die die = first;
  for (uint64_t depth = 0;;) {
    uint64_t next = die.attributes;
    if (die.abbrev != nullptr) {
      uint64_t sibling = 0;
      next = skip_attributes(die, &sibling);
      if (next == 0) return 0;
      if (die.abbrev->has_children) {
        if (sibling != 0) {
          next = sibling;
        } else {
          ++depth;
        }
      }
    } else if (depth != 0) {
      --depth;
    }
    if (depth == 0) return next;
    if (!read(next, &die)) return 0;
  }
}

const char* Unit::text(const Value& value) const {
  switch (value.form) {
    case DW_FORM_string: return value.text;
    case DW_FORM_strp: return text_at(sections_.str, value.number);
    case DW_FORM_line_strp: return text_at(sections_.line_str, value.number);
    case DW_FORM_strp_sup:
    case DW_FORM_GNU_strp_alt:
      return supplementary_ != nullptr ? text_at(supplementary_->str, value.number) : nullptr;
    case DW_FORM_strx:
    case DW_FORM_strx1:
    case DW_FORM_strx2:
    case DW_FORM_strx3:
    case DW_FORM_strx4:
    case DW_FORM_GNU_str_index: {
      if (value.number > sections_.str_offsets.size()) return nullptr;
      ByteCursor cursor(bytes_from(
          sections_.str_offsets, str_offsets_base_ + value.number * header_.encoding.offset_size));
      const uint64_t offset = read_offset(cursor, header_.encoding);
      return cursor.ok() ? text_at(sections_.str, offset) : nullptr;
    }
    default: return nullptr;
  }
}

std::optional<uint64_t> Unit::address(const Value& value) const {
  switch (value.form) {
    case DW_FORM_addr: return value.number;
    case DW_FORM_addrx:
    case DW_FORM_addrx1:
    case DW_FORM_addrx2:
    case DW_FORM_addrx3:
    case DW_FORM_addrx4:
    case DW_FORM_GNU_addr_index: return indexed_address(value.number);
    default: return std::nullopt;
  }
}

std::optional<uint64_t> Unit::indexed_address(uint64_t index) const {
  if (index > addresses_.size()) return std::nullopt;
  ByteCursor cursor(bytes_from(addresses_, addr_base_ + index * header_.encoding.address_size));
  const uint64_t address = read_address(cursor, header_.encoding);
  return cursor.ok() ? std::optional(address) : std::nullopt;
}

void Unit::ranges(const Value& low, const Value& high, const Value& list,
                  std::vector<Range>* ranges) const {
  if (list) {
    if (list.form == DW_FORM_rnglistx) {
      const uint64_t size = header_.encoding.offset_size;
      if (list.number > sections_.rnglists.size()) return;
      ByteCursor cursor(bytes_from(sections_.rnglists, rnglists_base_ + list.number * size));
      const uint64_t offset = read_offset(cursor, header_.encoding);
      if (cursor.ok()) range_list_5(rnglists_base_ + offset, ranges);
    } else if (header_.encoding.version >= 5) {
      range_list_5(list.number, ranges);
    } else {
      range_list(ranges_base_ + list.number, ranges);
    }
    return;
  }
  const std::optional<uint64_t> begin = address(low);
  if (!begin || !high) return;
  const std::optional<uint64_t> end = address(high);
  add(*begin, end ? *end : *begin + high.number, ranges);
}

void Unit::range_list(uint64_t offset, std::vector<Range>* ranges) const {
  ByteCursor cursor(bytes_from(old_ranges_, offset));
  const uint64_t base_follows = header_.encoding.address_size == 8 ? UINT64_MAX : UINT32_MAX;
  uint64_t base = low_pc_;
  while (cursor.ok() && !cursor.at_end()) {
    const uint64_t begin = read_address(cursor, header_.encoding);
    const uint64_t end = read_address(cursor, header_.encoding);
    if (!cursor.ok() || (begin == 0 && end == 0)) return;
    if (begin == base_follows) {
      base = end;
    } else if (begin < end) {
      add(base + begin, base + end, ranges);
    }
  }
}

void Unit::range_list_5(uint64_t offset, std::vector<Range>* ranges) const {
  ByteCursor cursor(bytes_from(sections_.rnglists, offset));
  const auto indexed = [&] { return indexed_address(cursor.uleb()).value_or(0); };
  uint64_t base = low_pc_;
  while (cursor.ok() && !cursor.at_end()) {
    switch (cursor.u8()) {
      case DW_RLE_base_addressx: base = indexed(); break;
      case DW_RLE_startx_endx: {
        const uint64_t begin = indexed();
        add(begin, indexed(), ranges);
        break;
      }
      case DW_RLE_startx_length: {
        const uint64_t begin = indexed();
        add(begin, begin + cursor.uleb(), ranges);
        break;
      }
      case DW_RLE_offset_pair: {
        const uint64_t begin = base + cursor.uleb();
        const uint64_t end = base + cursor.uleb();
        add(begin, end, ranges);
        break;
      }
      case DW_RLE_base_address: base = read_address(cursor, header_.encoding); break;
      case DW_RLE_start_end: {
        const uint64_t begin = read_address(cursor, header_.encoding);
        add(begin, read_address(cursor, header_.encoding), ranges);
        break;
      }
      case DW_RLE_start_length: {
        const uint64_t begin = read_address(cursor, header_.encoding);
        add(begin, begin + cursor.uleb(), ranges);
        break;
      }
      default: return;  // DW_RLE_end_of_list, or an unknown entry
    }
  }
}

}  // namespace sampan::dwarf

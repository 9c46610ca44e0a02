#include "dwarf/file.h"

#include <dwarf.h>

#include <algorithm>

namespace sampan::dwarf {

File::File(const Sections& sections, const File* supplementary, const Unit* skeleton)
    : sections_(sections), supplementary_(supplementary), skeleton_(skeleton) {
  for (uint64_t offset = 0; offset < sections_.info.size();) {
    const auto header = read_unit_header(sections_.info, offset);
    if (!header) break;
    headers_.push_back(*header);
    offset = header->end;
  }
}

std::vector<uint64_t> File::unit_offsets() const {
  std::vector<uint64_t> offsets;
  for (const UnitHeader& header : headers_) {
    if (header.type == DW_UT_compile || header.type == DW_UT_skeleton ||
        header.type == DW_UT_split_compile) {
      offsets.push_back(header.offset);
    }
  }
  return offsets;
}

const Unit* File::unit_at(uint64_t offset) const {
  const Unit* unit = unit_around(offset);
  return unit != nullptr && unit->header().offset == offset ? unit : nullptr;
}

const Unit* File::unit_around(uint64_t offset) const {
  const auto after = std::ranges::upper_bound(headers_, offset, {}, &UnitHeader::offset);
  if (after == headers_.begin() || offset >= std::prev(after)->end) return nullptr;
  return opened(*std::prev(after));
}

const Unit* File::split_unit(uint64_t dwo_id) const {
  for (const UnitHeader& header : headers_) {
    if (header.type == DW_UT_split_compile && header.dwo_id != dwo_id) continue;
    if (header.type != DW_UT_split_compile && header.type != DW_UT_compile) continue;
    const Unit* unit = opened(header);
    if (unit->dwo_id() == dwo_id) return unit;
  }
  return nullptr;
}

const Unit* File::opened(const UnitHeader& header) const {
  const std::scoped_lock lock(mutex_);
  std::unique_ptr<Unit>& unit = units_[header.offset];
  if (unit == nullptr) {
    auto& table = abbreviations_[{header.abbreviations, header.encoding}];
    if (table == nullptr) {
      table = std::make_shared<const Abbreviations>(sections_.abbrev, header.abbreviations,
                                                    header.encoding);
    }
    const Sections* shared = supplementary_ != nullptr ? &supplementary_->sections() : nullptr;
    unit = std::make_unique<Unit>(sections_, shared, header, table, skeleton_);
  }
  return unit.get();
}

DiePlace follow(const File& file, const Unit& unit, const Value& reference) {
  DiePlace place;
  uint64_t offset = reference.number;
  switch (reference.form) {
    case DW_FORM_ref1:
    case DW_FORM_ref2:
    case DW_FORM_ref4:
    case DW_FORM_ref8:
    case DW_FORM_ref_udata:
      offset += unit.header().offset;
      place.file = &file;
      place.unit = &unit;
      break;
    case DW_FORM_ref_addr:
      place.file = &file;
      place.unit = file.unit_around(offset);
      break;
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_ref_sup4:
    case DW_FORM_ref_sup8:
      place.file = file.supplementary();
      if (place.file != nullptr) place.unit = place.file->unit_around(offset);
      break;
    default: return {};
  }
  if (place.unit == nullptr || !place.unit->read(offset, &place.die) ||
      place.die.abbrev == nullptr) {
    return {};
  }
  return place;
}

}  // namespace sampan::dwarf

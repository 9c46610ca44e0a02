#include "symbolizer/dwarf/file.h"

#include <dwarf.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

namespace sampan::dwarf {
namespace {

struct UnitRange {
  uint64_t begin, end, unit;
};
using Groups = std::map<uint64_t, std::vector<uint64_t>>;  // by unit offset

// .debug_aranges: DWARF 5, 6.1.2.
std::vector<UnitRange> read_aranges(Bytes section) {
  std::vector<UnitRange> ranges;
  ByteCursor all(section);
  while (!all.at_end() && all.ok()) {
    Encoding encoding;
    const size_t set_begin = all.offset();
    uint64_t length = all.u32();
    if (length == 0xffffffff) {
      encoding.offset_size = 8;
      length = all.u64();
    }
    const size_t header_size = all.offset() - set_begin;
    ByteCursor set(all.take(length));
    if (!all.ok() || length == 0) break;  // compilers write no empty sets: only zeros follow
    set.skip(2);
    const uint64_t unit = read_offset(set, encoding);
    encoding.address_size = set.u8();
    set.skip(1);
    if (encoding.address_size != 8 && encoding.address_size != 4) continue;
    const size_t pair = size_t{2} * encoding.address_size;
    const size_t place = header_size + set.offset();
    set.skip((pair - place % pair) % pair);
    while (set.ok() && !set.at_end()) {
      const uint64_t begin = read_address(set, encoding);
      const uint64_t size = read_address(set, encoding);
      // Two zeros end the set; they are also what remains of an empty function that was discarded.
      const bool is_kept = set.ok() && begin != 0 && begin + size > begin;
      if (is_kept) ranges.push_back({begin, begin + size, unit});
    }
  }
  std::ranges::stable_sort(ranges, {}, &UnitRange::begin);
  return ranges;
}

// Returns the addresses that are in no range.
std::vector<uint64_t> group(const std::vector<UnitRange>& ranges, std::span<const uint64_t> svmas,
                            Groups& groups) {
  std::vector<uint64_t> rest;
  auto next = ranges.begin();
  for (const uint64_t svma : svmas) {
    while (next != ranges.end() && next->begin <= svma) ++next;
    if (next != ranges.begin() && svma < std::prev(next)->end) {
      groups[std::prev(next)->unit].push_back(svma);
    } else {
      rest.push_back(svma);
    }
  }
  return rest;
}

std::vector<UnitRange> ranges_of_units(const File& file, const std::set<uint64_t>& but_for) {
  std::vector<UnitRange> all;
  std::vector<Range> ranges;
  for (const uint64_t offset : file.unit_offsets()) {
    const Unit* unit = but_for.contains(offset) ? nullptr : file.unit_at(offset);
    if (unit == nullptr || unit->root().abbrev == nullptr) continue;
    Value low, high, list;
    unit->for_each_attribute(unit->root(), [&](uint16_t name, const Value& value) {
      if (name == DW_AT_low_pc) low = value;
      if (name == DW_AT_high_pc) high = value;
      if (name == DW_AT_ranges) list = value;
    });
    ranges.clear();
    unit->ranges(low, high, list, &ranges);
    for (const Range& range : ranges) all.push_back({range.begin, range.end, offset});
  }
  std::ranges::stable_sort(all, {}, &UnitRange::begin);
  return all;
}

}  // namespace

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

std::vector<UnitAddresses> group_by_unit(const File& file, std::span<const uint64_t> svmas) {
  Groups groups;
  const std::vector<UnitRange> aranges = read_aranges(file.sections().aranges);
  const std::vector<uint64_t> rest = group(aranges, svmas, groups);
  if (!rest.empty()) {
    std::set<uint64_t> covered;
    for (const UnitRange& range : aranges) covered.insert(range.unit);
    group(ranges_of_units(file, covered), rest, groups);
  }
  std::vector<UnitAddresses> result;
  for (auto& [offset, addresses] : groups) {
    const Unit* unit = file.unit_at(offset);
    if (unit == nullptr) continue;
    std::ranges::sort(addresses);
    result.push_back({unit, std::move(addresses)});
  }
  return result;
}

}  // namespace sampan::dwarf

#include "dwarf/unit_index.h"

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
using Groups = std::map<uint64_t, std::vector<uint64_t>>;  // by offset of the unit

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
    if (!all.ok() || length == 0) break;  // nobody writes an empty set: nothing but zeros follows
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
      if (!set.ok() || (begin == 0 && size == 0)) break;
      if (begin != 0 && begin + size > begin) ranges.push_back({begin, begin + size, unit});
    }
  }
  std::ranges::stable_sort(ranges, {}, &UnitRange::begin);
  return ranges;
}

// Returns the addresses that no range holds.
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

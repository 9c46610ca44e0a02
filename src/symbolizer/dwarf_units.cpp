#include "symbolizer/dwarf_units.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace sampan::symbolizer {

namespace {

using Groups = std::map<Dwarf_Off, std::vector<uint64_t>>;

// Returns the addresses that no range holds, and puts the units that have ranges into `covered`.
std::vector<uint64_t> group_by_aranges(Dwarf* dwarf, std::span<const uint64_t> svmas,
                                       Groups& groups, std::set<Dwarf_Off>& covered) {
  Dwarf_Aranges* ranges = nullptr;
  size_t count = 0;
  if (dwarf_getaranges(dwarf, &ranges, &count) != 0 || ranges == nullptr) count = 0;
  std::vector<uint64_t> rest;
  for (const uint64_t svma : svmas) {
    Dwarf_Off unit = 0;
    Dwarf_Arange* range = count != 0 ? dwarf_getarange_addr(ranges, svma) : nullptr;
    if (range != nullptr && dwarf_getarangeinfo(range, nullptr, nullptr, &unit) == 0) {
      groups[unit].push_back(svma);
    } else {
      rest.push_back(svma);
    }
  }
  for (size_t i = 0; i < count && !rest.empty(); ++i) {
    Dwarf_Off unit = 0;
    Dwarf_Arange* range = dwarf_onearange(ranges, i);
    if (dwarf_getarangeinfo(range, nullptr, nullptr, &unit) == 0) covered.insert(unit);
  }
  return rest;
}

void group_by_unit_ranges(Dwarf* dwarf, std::vector<uint64_t> svmas,
                          const std::set<Dwarf_Off>& covered, Groups& groups) {
  Dwarf_CU* unit = nullptr;
  Dwarf_Die die;
  while (!svmas.empty() &&
         dwarf_get_units(dwarf, unit, &unit, nullptr, nullptr, &die, nullptr) == 0) {
    const Dwarf_Off offset = dwarf_dieoffset(&die);
    if (covered.contains(offset)) continue;
    const std::vector<uint64_t> inside = within_ranges(die, svmas);
    if (inside.empty()) continue;
    groups[offset] = inside;
    std::vector<uint64_t> rest;
    std::ranges::set_difference(svmas, inside, std::back_inserter(rest));
    svmas = std::move(rest);
  }
}

}  // namespace

std::vector<UnitAddresses> group_by_unit(Dwarf* dwarf, std::span<const uint64_t> svmas) {
  Groups groups;
  std::set<Dwarf_Off> covered;
  std::vector<uint64_t> rest = group_by_aranges(dwarf, svmas, groups, covered);
  group_by_unit_ranges(dwarf, std::move(rest), covered, groups);
  std::vector<UnitAddresses> result;
  for (auto& [unit, addresses] : groups) result.push_back({unit, std::move(addresses)});
  return result;
}

std::vector<uint64_t> within_ranges(Dwarf_Die& die, std::span<const uint64_t> svmas) {
  std::vector<uint64_t> inside;
  Dwarf_Addr base, begin, end;
  int ranges = 0;
  for (ptrdiff_t next = 0; (next = dwarf_ranges(&die, next, &base, &begin, &end)) > 0;) {
    if (begin == 0 || begin >= end) continue;
    const auto first = std::ranges::lower_bound(svmas, begin);
    const auto last = std::lower_bound(first, svmas.end(), end);
    if (first == last) continue;
    inside.insert(inside.end(), first, last);
    ++ranges;
  }
  if (ranges > 1) {
    std::ranges::sort(inside);
    inside.erase(std::unique(inside.begin(), inside.end()), inside.end());
  }
  return inside;
}

}  // namespace sampan::symbolizer

// Which compilation unit holds an address.
//
// From .debug_aranges where the compiler wrote it (gcc does, clang does not), else from the ranges
// of each unit's first DIE. No unit is parsed further than that.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <span>
#include <vector>

namespace sampan::symbolizer {

struct UnitAddresses {
  Dwarf_Off unit = 0;           // offset of the unit's DIE, valid in every handle of a file
  std::vector<uint64_t> svmas;  // ascending
};

// `svmas` ascending; those that no unit holds are left out.
std::vector<UnitAddresses> group_by_unit(Dwarf* dwarf, std::span<const uint64_t> svmas);

// The addresses of `svmas` (ascending) that lie in the ranges of a DIE, ascending. Ranges that
// begin at 0 are those of functions that the linker threw away.
std::vector<uint64_t> within_ranges(Dwarf_Die& die, std::span<const uint64_t> svmas);

}  // namespace sampan::symbolizer

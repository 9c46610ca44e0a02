// Which compilation unit holds an address: by .debug_aranges where the compiler wrote it (gcc does,
// clang does not), else by the ranges of each unit's first DIE. No unit is read further than that.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dwarf/file.h"

namespace sampan::dwarf {

struct UnitAddresses {
  const Unit* unit = nullptr;
  std::vector<uint64_t> svmas;  // ascending
};

// `svmas` ascending; those that no unit holds are left out.
std::vector<UnitAddresses> group_by_unit(const File& file, std::span<const uint64_t> svmas);

}  // namespace sampan::dwarf

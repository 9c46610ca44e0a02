// Answers for the addresses of one compilation unit: inline chain, names, files and lines.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <unordered_map>

#include "symbolizer/dwarf_units.h"
#include "symbolizer/inline_chains.h"
#include "symbolizer/source_lines.h"

namespace sampan::symbolizer {

using LinesByAddress = std::unordered_map<uint64_t, SourceLines>;

// Adds to `lines` what the unit knows: at the least a line without a function (hand-written
// assembly has no DIE for one). False when the unit is damaged; what could be read is added.
bool resolve_unit(Dwarf* dwarf, const UnitAddresses& wanted, Names& names, LinesByAddress& lines);

}  // namespace sampan::symbolizer

// The functions that an address is in: the one that was compiled there, and those inlined into it.
//
// One walk over a unit's DIEs answers for all addresses of a batch. Each step narrows the batch to
// the addresses in the DIE's ranges, so that only subtrees that hold one are entered; what else is
// passed over is each function's first DIE.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "symbolizer/scopes.h"

namespace sampan::symbolizer {

// DW_TAG_subprogram or, but for the outermost, DW_TAG_inlined_subroutine.
using InlineChain = std::vector<Dwarf_Die>;  // outermost first

struct UnitFunctions {
  std::map<uint64_t, InlineChain> chains;  // by SVMA; none for an address without a function
  Scopes scopes;
  bool damaged = false;  // the DIEs could not all be read
};

// `svmas` ascending. `unit` is the DIE that has the functions: of split DWARF, the .dwo file's.
UnitFunctions find_functions(Dwarf_Die& unit, std::span<const uint64_t> svmas);

}  // namespace sampan::symbolizer

// The functions that contain addresses: the one that was compiled there, and those inlined into it.
//
// One walk over a unit's DIEs answers for a whole batch of addresses. Each step narrows the batch
// to the addresses in the DIE's ranges, so only subtrees that contain an address are entered; the
// others are skipped as fast as their abbreviations allow.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "symbolizer/dwarf/unit.h"

namespace sampan::dwarf {

// DW_TAG_subprogram or, if there is a caller, DW_TAG_inlined_subroutine.
struct CompiledFunction {
  Die die;
  uint32_t caller;  // index in FunctionTree::functions: the function it was inlined into
  uint32_t depth;   // the number of callers
  // The place of the call; files are numbered as in the LineTable.
  uint32_t call_file = 0, call_line = 0, call_column = 0;
  static constexpr uint32_t kNone = UINT32_MAX;
};

struct FunctionTree {
  std::vector<CompiledFunction> functions;
  std::vector<uint32_t> innermost;  // one for each address; kNone: no function
  bool damaged = false;             // not all DIEs could be read
};

// `svmas`: ascending. `unit` has the functions: for split DWARF it is the .dwo file's unit.
FunctionTree find_functions(const Unit& unit, std::span<const uint64_t> svmas);

enum class Language { kC, kCpp, kOther };
Language language_of(const Unit& unit);

}  // namespace sampan::dwarf

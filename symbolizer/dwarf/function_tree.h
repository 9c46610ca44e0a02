// The functions that addresses are in: the one that was compiled there, and those inlined into it.
//
// One walk over a unit's DIEs answers for all addresses of a batch. Each step narrows the batch to
// the addresses in the DIE's ranges, so that only subtrees that hold one are entered; the others
// are passed over as fast as their abbreviations allow.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dwarf/unit.h"

namespace sampan::dwarf {

// DW_TAG_subprogram or, where there is a caller, DW_TAG_inlined_subroutine.
struct CompiledFunction {
  Die die;
  uint32_t caller;  // into FunctionTree::functions: what it was inlined into
  uint32_t depth;   // how many callers there are
  // Where it was called, as a LineTable numbers files.
  uint32_t call_file = 0, call_line = 0, call_column = 0;
  static constexpr uint32_t kNone = UINT32_MAX;
};

struct FunctionTree {
  std::vector<CompiledFunction> functions;
  std::vector<uint32_t> innermost;  // of each address, kNone for one without a function
  bool damaged = false;             // the DIEs could not all be read
};

// `svmas` ascending. `unit` is the one that has the functions: of split DWARF, the .dwo file's.
FunctionTree find_functions(const Unit& unit, std::span<const uint64_t> svmas);

enum class Language { kC, kCpp, kOther };
Language language_of(const Unit& unit);

}  // namespace sampan::dwarf

// What DIEs say of a function. A compiled or inlined function refers to the one it is a copy of,
// and that to where it was declared, perhaps in another unit or file: the nearest word counts.
#pragma once

#include <cstdint>

#include "dwarf/file.h"

namespace sampan::dwarf {

struct FunctionFacts {
  const char* linkage_name = nullptr;
  const char* name = nullptr;       // as it was written, without what encloses it
  const Unit* file_unit = nullptr;  // whose line table numbers `file`
  uint64_t file = 0;
  uint32_t line = 0;     // of its declaration, 0 unknown
  DiePlace origin;       // what all inlined and compiled copies of it refer to
  DiePlace declaration;  // where it is declared: what encloses that, encloses the function
};

// The DIE that all copies of a function refer to: itself where it refers to none.
DiePlace origin_of(const DiePlace& function);

FunctionFacts describe(const DiePlace& function);

}  // namespace sampan::dwarf

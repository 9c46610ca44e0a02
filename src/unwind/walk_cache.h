// What walks remember of each other: the rows of the pcs they met, and of what rows are made of,
// the modules and the CIEs. All of it is stale when the generation of the rows has changed.
//
// Freestanding: linked into the target.
#pragma once

#include "unwind/cfi.h"
#include "unwind/image.h"
#include "unwind/recent_table.h"
#include "unwind/row_cache.h"

namespace sampan::unwind {

struct WalkCache {
  RowCache rows;
  RecentTable<Module, 64, 21> modules;  // by the two megabytes of code that a pc is in
  RecentCies cies;                      // by AVMA
};

}  // namespace sampan::unwind

// .eh_frame_hdr: a sorted table from the start of each function to its FDE (Linux Standard Base
// Core 5.0, 10.6.2).
//
// Freestanding: linked into the target; async-signal-safe.
#pragma once

#include <cstdint>

#include "unwind/cfi.h"
#include "unwind/image.h"

namespace sampan::unwind {

// The AVMA of the FDE that may cover `pc` (a lookup AVMA): the last one that starts at or before
// it. By binary search; where the table is missing or of an unusual format, by scan_for_fde.
CfiResult find_fde(const Module& module, uint64_t pc, uint64_t& fde);

}  // namespace sampan::unwind

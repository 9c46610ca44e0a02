// Reads .eh_frame and .eh_frame_hdr: CIEs and FDEs, and the programs in them, which describe a table with a row per
// pc. Format: Linux Standard Base Core 5.0, 10.6; DWARF 5, 6.4.2 for the instructions.
//
// Nothing here trusts what it reads: addresses are checked against the image, and work is bounded.
//
// Freestanding: linked into the target; async-signal-safe.
#pragma once

#include <cstdint>

#include "unwind/cfi_program.h"
#include "unwind/cfi_row.h"
#include "unwind/image.h"
#include "unwind/recent_table.h"

namespace sampan::unwind {

enum class CfiResult : uint8_t {
  kFound,
  kNotCovered,  // there is no unwind information for this pc
  kDamaged,     // there is, but it is invalid or uses something unknown
};

// What the FDEs of one CIE have in common.
struct Cie {
  CfiProgram::Alignment alignment;
  CfiRow initial;  // made by its program
  bool has_augmentation_data;
};
using RecentCies = RecentTable<Cie, 64>;

// The row for `pc` (a lookup AVMA) by the FDE at AVMA `fde`. Its CIE is taken from `cies`, or put
// there under `generation`.
CfiResult find_row(const Image& image, uint64_t fde, uint64_t pc, RecentCies& cies,
                   uint64_t generation, CfiRow& row);

// The code that the FDE at AVMA `fde` covers, [start, end): in most cases one function.
CfiResult read_coverage(const Image& image, uint64_t fde, uint64_t& start, uint64_t& end);

// Finds the FDE that covers `pc` by reading the entries from AVMA `eh_frame` on, one by one: for
// modules whose .eh_frame_hdr has no table. Gives up (kNotCovered) after kMaxScan entries.
inline constexpr unsigned kMaxScan = 1 << 14;
// Not inlined into find_fde, which would need more stack.
[[gnu::noinline]] CfiResult scan_for_fde(const Image& image, uint64_t eh_frame, uint64_t pc,
                                         uint64_t& fde);

// The AVMA of the FDE that may cover `pc` (a lookup AVMA): the last one that starts at or before it.
// By binary search in .eh_frame_hdr, a sorted table from the start of each function to its FDE (Linux
// Standard Base Core 5.0, 10.6.2); where the table is missing or of an unusual format, by
// scan_for_fde.
CfiResult find_fde(const Module& module, uint64_t pc, uint64_t& fde);

}  // namespace sampan::unwind

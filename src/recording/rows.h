// The payload of a block of rows (format.h): new rows of all tables, as columns.
#pragma once

#include <cstdint>
#include <span>

#include "recording/columns.h"
#include "recording/reader.h"

namespace sampan::recording {

// Rows that the file had before a block, of the tables that others refer to.
struct RowCounts {
  uint64_t processes = 0;
  uint64_t threads = 0;
  uint64_t modules = 0;
  uint64_t frames = 0;
  uint64_t stacks = 0;
  uint64_t waits = 0;
};

RowCounts counts_of(const Recording& recording);

// `rows` holds the new rows only (its session, end and damage are not looked at). The samples of
// one thread and wait are kept together, in their order; their times and weights are cut to the
// units of format.h.
void encode_rows(const Recording& rows, const RowCounts& before, ColumnWriter* out);

// Appends the rows of `payload` to `recording`; false, and `recording` as it was, when the payload
// makes no sense. Blocks may have been lost before this one: rows, at most `lost_rows` of all
// tables, which is counted down, are then put in place of theirs, so that indexes stay right. Where
// those must refer to something, it is kNone, until close_gaps(), when all blocks have been read,
// gives them a process and a frame.
bool decode_rows(std::span<const uint8_t> payload, uint64_t* lost_rows, Recording* recording);
// Puts rows in place of the lost ones before a block that says there were `before`; false, with
// some of them there, when there are more already, or more are missing than may be lost.
bool fill_gaps(const RowCounts& before, uint64_t* lost_rows, Recording* recording);
void close_gaps(Recording* recording);

inline constexpr const char* kLostName = "[lost]";  // of threads, processes, modules

}  // namespace sampan::recording

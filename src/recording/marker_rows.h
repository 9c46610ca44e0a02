// The payload of a block of markers (format.h).
#pragma once

#include <cstdint>
#include <span>

#include "recording/columns.h"
#include "recording/reader.h"
#include "recording/text_table.h"

namespace sampan::recording {

// `markers` has the new rows only, with their own texts. `processes` and `threads`: how many rows
// of those the file has.
void encode_markers(const Markers& markers, uint64_t processes, uint64_t threads,
                    ColumnWriter* out);

// Appends the rows of `payload` to recording->markers, whose texts are those of `texts`; false, and
// `recording` as it was, when the payload makes no sense. Processes and threads that are lost are
// put in place as by decode_rows(). `growth`: with this block there is room for so many times the
// rows that there are then. Growing by and by would need twice the memory.
bool decode_markers(std::span<const uint8_t> payload, double growth, uint64_t* lost_rows,
                    TextTable* texts, Recording* recording);

}  // namespace sampan::recording

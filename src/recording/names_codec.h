// The payload of a block of names (format.h).
#pragma once

#include <cstdint>
#include <span>

#include "recording/columns.h"
#include "recording/names.h"

namespace sampan::recording {

void encode_names(const Names& names, ColumnWriter* out);

// Appends to `names`; false, and nothing appended, when the payload makes no sense. Frames may be
// such as the recording does not have, because their rows are lost.
bool decode_names(std::span<const uint8_t> payload, size_t modules, Names* names);

// The same of a block of Names::jit.
void encode_jit_names(const Names& names, ColumnWriter* out);
bool decode_jit_names(std::span<const uint8_t> payload, Names* names);

}  // namespace sampan::recording

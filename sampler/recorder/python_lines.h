// The line table of a code object of CPython, as the target has it. Objects/lnotab_notes.txt (3.9, 3.10)
// and Objects/locations.md (3.11 and later) of CPython describe the formats.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "wire/record.h"

namespace sampan::sampler {

struct PythonLines {
  wire::PythonLineTable format;  // as it was announced: it may be any number
  std::vector<uint8_t> table;
};

// The line of the unit of bytecode with this index; nothing when the table does not say.
std::optional<uint32_t> python_line(const PythonLines& lines, uint32_t first_line, uint32_t unit);

}  // namespace sampan::sampler

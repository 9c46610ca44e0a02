// The line table of a code object of CPython, as the target has it. Objects/lnotab_notes.txt (3.9, 3.10)
// and Objects/locations.md (3.11 and later) of CPython describe the formats.
#pragma once

#include <cstdint>
#include <vector>

#include "wire/record.h"

namespace sampan::sampler {

struct PythonLines {
  wire::PythonLineTable format;  // as it was announced: it may be any number
  std::vector<uint8_t> table;
};

// A place in the source. 0: the table does not say.
struct PythonPosition {
  uint32_t line = 0;
  uint32_t column = 0;  // where the expression begins, in bytes of UTF-8 from 1; none before 3.11
  friend bool operator==(const PythonPosition&, const PythonPosition&) = default;
};

// The place that the unit of bytecode with this index was made of.
PythonPosition python_position(const PythonLines& lines, uint32_t first_line, uint32_t unit);

}  // namespace sampan::sampler

// Strings of the interpreter: where their characters are.
//
//   Memory   bool read(uint64_t avma, T& value): false where there is no memory
//            bool readable(uint64_t avma, uint64_t size): whether all of it can be read
//
// Freestanding: linked into the target; async-signal-safe.
#pragma once

#include <cstdint>

#include "unwind/python_layout.h"

namespace sampan::unwind {

// A string or a bytes object: where its bytes are, and how many.
struct PythonBytes {
  uint64_t at = 0;
  uint16_t size = 0;
  uint8_t width = 1;  // bytes of a character, 0: ASCII; of a line table, its format
};

// At most `most` bytes of the string. False: there is no string, or it is not readable.
template <typename Memory>
bool find_text(Memory& memory, const PythonLayout& layout, uint64_t string, uint64_t most,
               PythonBytes& text) {
  // Flags of PyASCIIObject::state, the same in all versions that have a layout.
  constexpr uint64_t kLength = 16;
  constexpr uint64_t kState = 32;
  uint64_t length = 0;
  uint32_t state = 0;
  if (!memory.read(string + kLength, length) || !memory.read(string + kState, state)) return false;
  const uint8_t kind = state >> 2 & 7;
  const bool is_compact = (state >> 5 & 1) != 0;
  const bool is_ascii = (state >> 6 & 1) != 0;
  if (!is_compact || (kind != 1 && kind != 2 && kind != 4)) return false;
  text.at = string + (is_ascii ? layout.string_ascii : layout.string_other);
  text.size = static_cast<uint16_t>((length < most / kind ? length : most / kind) * kind);
  text.width = is_ascii ? 0 : kind;
  return memory.readable(text.at, text.size);
}

}  // namespace sampan::unwind

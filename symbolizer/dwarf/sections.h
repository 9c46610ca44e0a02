// The sections of debug information of one file, inflated: what everything in this folder reads.
// Other people's bytes: every offset into them is checked, and what is wrong is "not known".
#pragma once

#include <cstdint>
#include <span>

namespace sampan::dwarf {

using Bytes = std::span<const uint8_t>;

struct Sections {
  Bytes info, abbrev, line, str, line_str, ranges, rnglists, addr, str_offsets, aranges;
};

// From an offset on; empty where there is none.
inline Bytes behind(Bytes section, uint64_t offset) {
  return offset < section.size() ? section.subspan(offset) : Bytes();
}

// The text at an offset of a section of strings; null where there is none. Sections of strings end
// with a NUL; in one that does not, no text is known.
inline const char* text_at(Bytes section, uint64_t offset) {
  if (offset >= section.size() || section.back() != 0) return nullptr;
  return reinterpret_cast<const char*>(section.data() + offset);
}

}  // namespace sampan::dwarf

// The debug sections of one file, inflated: the input of everything in this folder. The bytes are
// untrusted: every offset into them is checked, and anything invalid counts as unknown.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace sampan::dwarf {

using Bytes = std::span<const uint8_t>;

struct Sections {
  Bytes info, abbrev, line, str, line_str, ranges, rnglists, addr, str_offsets, aranges;
};

// The bytes from `offset` on; empty when the offset is out of range.
inline Bytes bytes_from(Bytes section, uint64_t offset) {
  return offset < section.size() ? section.subspan(offset) : Bytes();
}

// The string at an offset of a string section; null when there is none. A string section must end
// with a NUL; one that does not yields no strings.
inline const char* text_at(Bytes section, uint64_t offset) {
  if (offset >= section.size() || section.back() != 0) return nullptr;
  return reinterpret_cast<const char*>(section.data() + offset);
}

// The parts of a .dwp file's sections that belong to one unit; none if it lacks the unit. A .dwp
// file has the split units of a whole program, with an index by dwo_id (DWARF 5, 7.3.5; for
// DWARF 4, GNU's format).
std::optional<Sections> sections_in_package(const Sections& package, Bytes cu_index,
                                            uint64_t dwo_id);

}  // namespace sampan::dwarf

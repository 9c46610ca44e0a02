#include "symbolizer/dwarf/sections.h"
#include "base/byte_cursor.h"

namespace sampan::dwarf {

namespace {

// Columns of the index: DWARF 5, table 7.1. GNU's format has the same numbers for these.
constexpr uint32_t kInfo = 1, kAbbrev = 3, kLine = 4, kStrOffsets = 6, kRngLists = 8;

uint32_t u32_at(Bytes bytes, uint64_t offset) {
  return ByteCursor(bytes_from(bytes, offset)).u32();
}

struct Index {
  uint32_t columns, units, slots;
  Bytes signatures, rows, names, offsets, sizes;
};

std::optional<Index> read_index(Bytes section) {
  ByteCursor cursor(section);
  const uint32_t version = cursor.u32() & 0xffff;
  if (version != 2 && version != 5) return std::nullopt;
  Index index{};
  index.columns = cursor.u32();
  index.units = cursor.u32();
  index.slots = cursor.u32();
  index.signatures = cursor.take(uint64_t{index.slots} * 8);
  index.rows = cursor.take(uint64_t{index.slots} * 4);
  if (index.columns > 16) return std::nullopt;
  index.names = cursor.take(uint64_t{index.columns} * 4);
  index.offsets = cursor.take(uint64_t{index.units} * index.columns * 4);
  index.sizes = cursor.take(uint64_t{index.units} * index.columns * 4);
  return cursor.ok() ? std::optional(index) : std::nullopt;
}

// The row of a unit, from 1; 0 if it is not in the index.
uint32_t row_of(const Index& index, uint64_t dwo_id) {
  for (uint32_t slot = 0; slot < index.slots; ++slot) {
    const uint32_t row = u32_at(index.rows, uint64_t{slot} * 4);
    if (row == 0 || row > index.units) continue;
    if (ByteCursor(bytes_from(index.signatures, uint64_t{slot} * 8)).u64() == dwo_id) return row;
  }
  return 0;
}

Bytes part(Bytes section, uint64_t offset, uint64_t size) {
  const Bytes rest = bytes_from(section, offset);
  return rest.first(size < rest.size() ? size : rest.size());
}

}  // namespace

std::optional<Sections> sections_in_package(const Sections& package, Bytes cu_index,
                                            uint64_t dwo_id) {
  const std::optional<Index> index = read_index(cu_index);
  const uint32_t row = index ? row_of(*index, dwo_id) : 0;
  if (row == 0) return std::nullopt;
  Sections sections = package;
  for (uint32_t column = 0; column < index->columns; ++column) {
    const uint64_t place = (uint64_t{row - 1} * index->columns + column) * 4;
    const uint64_t offset = u32_at(index->offsets, place);
    const uint64_t size = u32_at(index->sizes, place);
    switch (u32_at(index->names, uint64_t{column} * 4)) {
      case kInfo: sections.info = part(package.info, offset, size); break;
      case kAbbrev: sections.abbrev = part(package.abbrev, offset, size); break;
      case kLine: sections.line = part(package.line, offset, size); break;
      case kStrOffsets: sections.str_offsets = part(package.str_offsets, offset, size); break;
      case kRngLists: sections.rnglists = part(package.rnglists, offset, size); break;
      default: break;
    }
  }
  return sections;
}

}  // namespace sampan::dwarf

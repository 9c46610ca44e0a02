#include "sampler/recorder/python_lines.h"

#include "base/byte_cursor.h"

namespace sampan::sampler {
namespace {

// An entry of a line table: what it covers, how the line changes before that, and the column.
struct LineEntry {
  uint32_t bytes = 0;
  int64_t line_change = 0;
  bool has_line = true;
  uint64_t column = 0;  // from 1; 0: unknown
};

constexpr uint32_t kBytesOfUnit = 2;

uint64_t take_varint(ByteCursor& cursor) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 60; shift += 6) {
    const uint8_t byte = cursor.u8();
    value |= uint64_t{byte & 0x3fu} << shift;
    if ((byte & 0x40) == 0) break;
  }
  return value;
}

int64_t take_signed_varint(ByteCursor& cursor) {
  const uint64_t value = take_varint(cursor);
  const auto size = static_cast<int64_t>(value >> 1);
  return (value & 1) != 0 ? -size : size;
}

LineEntry take_location(ByteCursor& cursor) {
  constexpr unsigned kOneLine = 10, kNoColumns = 13, kLong = 14, kNoLocation = 15;
  LineEntry entry;
  const uint8_t first = cursor.u8();
  const unsigned code = first >> 3 & 15;
  entry.bytes = ((first & 7) + 1) * kBytesOfUnit;
  if (code < kOneLine) {
    entry.column = (code << 3 | cursor.u8() >> 4) + 1;  // the other bits are the length
  } else if (code < kNoColumns) {
    entry.line_change = code - kOneLine;
    entry.column = cursor.u8() + 1u;
    cursor.u8();  // the last column
  } else if (code == kNoColumns) {
    entry.line_change = take_signed_varint(cursor);
  } else if (code == kLong) {
    entry.line_change = take_signed_varint(cursor);
    take_varint(cursor);  // lines to the last one
    entry.column = take_varint(cursor);
    take_varint(cursor);  // the last column
  }
  entry.has_line = code != kNoLocation;
  return entry;
}

LineEntry take_range(ByteCursor& cursor) {
  constexpr int8_t kNoLine = -128;
  LineEntry entry;
  entry.bytes = cursor.u8();
  const auto change = cursor.fixed<int8_t>();
  entry.has_line = change != kNoLine;
  if (entry.has_line) entry.line_change += change;
  return entry;
}

PythonPosition valid_position(int64_t line, uint64_t column) {
  if (line <= 0 || line > INT32_MAX) return {};
  return {static_cast<uint32_t>(line), column > INT32_MAX ? 0 : static_cast<uint32_t>(column)};
}

template <typename Take>
PythonPosition find_entry(ByteCursor cursor, int64_t line, uint64_t byte, Take&& take) {
  uint64_t end = 0;
  while (!cursor.at_end()) {
    const LineEntry entry = take(cursor);
    if (!cursor.ok()) return {};
    line += entry.line_change;
    if (line != static_cast<int32_t>(line)) return {};  // a damaged table
    end += entry.bytes;
    if (byte >= end) continue;
    return entry.has_line ? valid_position(line, entry.column) : PythonPosition{};
  }
  return {};
}

// Its entries say where a line begins. The last line goes to the end of the code, which the table does
// not tell.
PythonPosition find_in_lnotab(const std::vector<uint8_t>& table, int64_t line, uint64_t byte) {
  ByteCursor cursor(table);
  uint64_t start = 0;
  while (!cursor.at_end()) {
    start += cursor.u8();
    const auto change = cursor.fixed<int8_t>();
    if (!cursor.ok()) return {};
    if (start > byte) return valid_position(line, 0);
    line += change;
  }
  const bool is_cut = table.size() >= wire::kMaxPythonLineTable;
  return is_cut ? PythonPosition{} : valid_position(line, 0);
}

}  // namespace

PythonPosition python_position(const PythonLines& lines, uint32_t first_line, uint32_t unit) {
  const ByteCursor cursor(lines.table);
  const uint64_t byte = uint64_t{unit} * kBytesOfUnit;
  switch (lines.format) {
    case wire::PythonLineTable::kLnotab: return find_in_lnotab(lines.table, first_line, byte);
    case wire::PythonLineTable::kRanges: return find_entry(cursor, first_line, byte, take_range);
    case wire::PythonLineTable::kLocations:
      return find_entry(cursor, first_line, byte, take_location);
  }
  return {};
}

}  // namespace sampan::sampler

#include "sampler/recorder/python_lines.h"

#include "base/byte_cursor.h"

namespace sampan::sampler {
namespace {

// An entry of a line table: what it covers, and how the line changes before that.
struct LineEntry {
  uint32_t bytes = 0;
  int64_t line_change = 0;
  bool has_line = true;
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
    cursor.u8();  // columns
  } else if (code < kNoColumns) {
    entry.line_change = code - kOneLine;
    cursor.u8();
    cursor.u8();
  } else if (code == kNoColumns) {
    entry.line_change = take_signed_varint(cursor);
  } else if (code == kLong) {
    entry.line_change = take_signed_varint(cursor);
    take_varint(cursor);  // lines to the last one
    take_varint(cursor);  // columns
    take_varint(cursor);
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

std::optional<uint32_t> valid_line(int64_t line) {
  if (line <= 0 || line > INT32_MAX) return std::nullopt;
  return static_cast<uint32_t>(line);
}

template <typename Take>
std::optional<uint32_t> find_entry(ByteCursor cursor, int64_t line, uint64_t byte, Take&& take) {
  uint64_t end = 0;
  while (!cursor.at_end()) {
    const LineEntry entry = take(cursor);
    if (!cursor.ok()) return std::nullopt;
    line += entry.line_change;
    end += entry.bytes;
    if (byte >= end) continue;
    return entry.has_line ? valid_line(line) : std::nullopt;
  }
  return std::nullopt;
}

// Its entries say where a line begins. The last line goes to the end of the code, which the table does
// not tell.
std::optional<uint32_t> find_in_lnotab(const std::vector<uint8_t>& table, int64_t line,
                                       uint64_t byte) {
  ByteCursor cursor(table);
  uint64_t start = 0;
  while (!cursor.at_end()) {
    start += cursor.u8();
    const auto change = cursor.fixed<int8_t>();
    if (!cursor.ok()) return std::nullopt;
    if (start > byte) return valid_line(line);
    line += change;
  }
  const bool is_cut = table.size() >= wire::kMaxPythonLineTable;
  return is_cut ? std::nullopt : valid_line(line);
}

}  // namespace

std::optional<uint32_t> python_line(const PythonLines& lines, uint32_t first_line, uint32_t unit) {
  const ByteCursor cursor(lines.table);
  const uint64_t byte = uint64_t{unit} * kBytesOfUnit;
  switch (lines.format) {
    case wire::PythonLineTable::kLnotab: return find_in_lnotab(lines.table, first_line, byte);
    case wire::PythonLineTable::kRanges: return find_entry(cursor, first_line, byte, take_range);
    case wire::PythonLineTable::kLocations:
      return find_entry(cursor, first_line, byte, take_location);
  }
  return std::nullopt;
}

}  // namespace sampan::sampler

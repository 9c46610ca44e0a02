#include "sampler/recorder/python_code.h"

#include <string_view>
#include <tuple>
#include <utility>

#include "base/byte_cursor.h"
#include "base/interner.h"
#include "base/utf8.h"
#include "wire/record.h"

namespace sampan::sampler {
namespace {

void append_utf8(uint32_t character, std::string* text) {
  const auto put = [&](uint32_t byte) { text->push_back(static_cast<char>(byte)); };
  if (character < 0x80) {
    put(character);
  } else if (character < 0x800) {
    put(0xc0 | character >> 6);
    put(0x80 | (character & 0x3f));
  } else if (character < 0x10000) {
    put(0xe0 | character >> 12);
    put(0x80 | (character >> 6 & 0x3f));
    put(0x80 | (character & 0x3f));
  } else {
    put(0xf0 | (character >> 18 & 0x07));
    put(0x80 | (character >> 12 & 0x3f));
    put(0x80 | (character >> 6 & 0x3f));
    put(0x80 | (character & 0x3f));
  }
}

struct Field {
  uint8_t width;
  std::span<const uint8_t> bytes;
};

Field take_field(ByteCursor& cursor) {
  Field field{};
  field.width = cursor.u8();
  field.bytes = cursor.take(cursor.u16());
  return field;
}

// Surrogates, which file names may have, become U+FFFD.
std::string text_of(const Field& field) {
  std::string text;
  if (field.width == 0) {
    text.assign(field.bytes.begin(), field.bytes.end());
  } else {
    for (size_t i = 0; i + field.width <= field.bytes.size(); i += field.width) {
      uint32_t character = 0;
      for (size_t byte = field.width; byte-- > 0;) {
        character = character << 8 | field.bytes[i + byte];
      }
      append_utf8(character, &text);
    }
  }
  return valid_utf8(text);
}

// An entry of a line table: the units that it covers, and how the line changes before them.
struct LineEntry {
  uint32_t units = 0;
  int64_t line_change = 0;
  bool has_line = true;
};

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

LineEntry take_entry(ByteCursor& cursor) {
  constexpr unsigned kOneLine = 10, kNoColumns = 13, kLong = 14, kNoLocation = 15;
  LineEntry entry;
  const uint8_t first = cursor.u8();
  const unsigned code = first >> 3 & 15;
  entry.units = (first & 7) + 1;
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

constexpr uint32_t number_of(uint64_t frame) {
  return static_cast<uint32_t>((frame & ~wire::kPythonFrame) >> wire::kPythonUnitBits);
}
constexpr uint32_t unit_of(uint64_t frame) {
  return static_cast<uint32_t>(frame) & ((1u << wire::kPythonUnitBits) - 1);
}

}  // namespace

std::optional<PythonCodeRecord> decode_python_code(std::span<const uint8_t> payload) {
  ByteCursor cursor(payload);
  PythonCodeRecord record{};
  record.number = cursor.u32();
  const auto line = cursor.fixed<int32_t>();
  const Field name = take_field(cursor);
  const Field file = take_field(cursor);
  const Field table = take_field(cursor);
  if (!cursor.ok() || !cursor.at_end() || record.number == 0) return std::nullopt;
  for (const Field& field : {name, file}) {
    if (field.width > 4) return std::nullopt;
  }
  record.code = {text_of(name),
                 text_of(file),
                 line > 0 ? static_cast<uint32_t>(line) : 0,
                 {table.bytes.begin(), table.bytes.end()}};
  return record;
}

std::optional<uint32_t> python_line(const PythonCode& code, uint32_t unit) {
  ByteCursor cursor(code.line_table);
  uint64_t end = 0;
  int64_t line = code.first_line;
  while (!cursor.at_end()) {
    const LineEntry entry = take_entry(cursor);
    if (!cursor.ok()) return std::nullopt;
    line += entry.line_change;
    end += entry.units;
    if (unit >= end) continue;
    if (!entry.has_line || line <= 0 || line > INT32_MAX) return std::nullopt;
    return static_cast<uint32_t>(line);
  }
  return std::nullopt;
}

bool PythonCodes::knows(uint64_t frame) const {
  return codes_.contains(number_of(frame));
}

recording::FrameName PythonCodes::name(uint64_t frame) const {
  const PythonCode& code = codes_.at(number_of(frame));
  const uint32_t unit = unit_of(frame);
  const auto line = unit == 0 ? code.first_line : python_line(code, unit - 1).value_or(0);
  return {code.name, code.file, code.first_line, line};
}

recording::Frame python_frame_row(const recording::FrameName& name) {
  const uint64_t hash = hash_of(std::tuple(
      std::string_view(name.function), std::string_view(name.file), name.first_line, name.line));
  return {recording::kNone, wire::kPythonFrame | (hash & (wire::kPythonFrame - 1))};
}

}  // namespace sampan::sampler

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

constexpr uint32_t unit_of(uint64_t frame) {
  return static_cast<uint32_t>(frame) & ((1u << wire::kPythonUnitBits) - 1);
}

}  // namespace

// Surrogates, which file names may have, become U+FFFD.
std::string python_text(uint8_t width, std::span<const uint8_t> bytes) {
  std::string text;
  if (width == 0) {
    text.assign(bytes.begin(), bytes.end());
  } else {
    for (size_t i = 0; i + width <= bytes.size(); i += width) {
      uint32_t character = 0;
      for (size_t byte = width; byte-- > 0;) character = character << 8 | bytes[i + byte];
      append_utf8(character, &text);
    }
  }
  return valid_utf8(text);
}

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
  record.code = {
      python_text(name.width, name.bytes),
      python_text(file.width, file.bytes),
      line > 0 ? static_cast<uint32_t>(line) : 0,
      {static_cast<wire::PythonLineTable>(table.width), {table.bytes.begin(), table.bytes.end()}}};
  return record;
}

std::optional<PythonTaskRecord> decode_python_task(std::span<const uint8_t> payload) {
  ByteCursor cursor(payload);
  PythonTaskRecord record{};
  record.number = cursor.u8();
  record.task.id = cursor.u64();
  const Field name = take_field(cursor);
  const Field coroutine = take_field(cursor);
  const bool is_whole = cursor.ok() && cursor.at_end() && name.width <= 4 && coroutine.width <= 4;
  if (!is_whole || record.number == 0 || record.number > wire::kTaskNumbers) return std::nullopt;
  record.task.name = python_text(name.width, name.bytes);
  record.task.coroutine = python_text(coroutine.width, coroutine.bytes);
  return record;
}

uint32_t python_number(uint64_t frame) {
  return static_cast<uint32_t>((frame & ~wire::kPythonFrame) >> wire::kPythonUnitBits);
}

bool PythonCodes::knows(uint64_t frame) const {
  return codes_.contains(python_number(frame));
}

bool PythonCodes::knows_all(uint64_t frame) const {
  const auto found = codes_.find(python_number(frame));
  return found != codes_.end() &&
         static_cast<uint8_t>(found->second.lines.format) != wire::kNoLineTable;
}

recording::FrameName PythonCodes::name(uint64_t frame) const {
  const PythonCode& code = codes_.at(python_number(frame));
  const uint32_t unit = unit_of(frame);
  const PythonPosition at = unit == 0 ? PythonPosition{code.first_line}
                                      : python_position(code.lines, code.first_line, unit - 1);
  return {code.name, code.file, code.first_line, at.line, at.column};
}

recording::Frame python_frame_row(const recording::FrameName& name) {
  const uint64_t hash =
      hash_of(std::tuple(std::string_view(name.function), std::string_view(name.file),
                         name.first_line, name.line, name.column));
  return {recording::kNone, wire::kPythonFrame | (hash & (wire::kPythonFrame - 1))};
}

}  // namespace sampan::sampler

#include "sampler/recorder/python_code.h"

#include <gtest/gtest.h>

#include <cstring>

#include "wire/record.h"

namespace sampan::sampler {

using Bytes = std::vector<uint8_t>;

namespace {

// What CPython 3.11 makes of this function, and what its co_lines() says of the table (co_firstlineno 7):
//
//   def f(a):
//     b = [a,
//          a]
//     return b
const Bytes kTable = {0x80, 0x00, 0xd8, 0x07, 0x08, 0xd8, 0x07, 0x08, 0xf0, 0x03,
                      0x01, 0x07, 0x0a, 0x80, 0x21, 0xe0, 0x09, 0x0a, 0x80, 0x28};

Bytes field(uint8_t width, const Bytes& bytes) {
  Bytes field = {width, static_cast<uint8_t>(bytes.size()),
                 static_cast<uint8_t>(bytes.size() >> 8)};
  field.insert(field.end(), bytes.begin(), bytes.end());
  return field;
}
Bytes text(const char* text) {
  return {text, text + std::strlen(text)};
}

Bytes code_payload(const Bytes& name, const Bytes& file, const Bytes& table, int32_t line = 7) {
  Bytes all = {3, 0, 0, 0};
  for (unsigned i = 0; i < 4; ++i) {
    all.push_back(static_cast<uint8_t>(static_cast<uint32_t>(line) >> 8 * i));
  }
  for (const Bytes* part : {&name, &file, &table})
    all.insert(all.end(), part->begin(), part->end());
  return all;
}

TEST(PythonCode, IsDecoded) {
  const auto record = decode_python_code(
      code_payload(field(0, text("C.f")), field(0, text("/w.py")), field(3, kTable)));
  ASSERT_TRUE(record);
  EXPECT_EQ(record->number, 3u);
  EXPECT_EQ(record->code.name, "C.f");
  EXPECT_EQ(record->code.file, "/w.py");
  EXPECT_EQ(record->code.first_line, 7u);
  EXPECT_EQ(record->code.lines.format, wire::PythonLineTable::kLocations);
  EXPECT_EQ(record->code.lines.table, kTable);
}

TEST(PythonCode, TextsOfAllWidthsBecomeUtf8) {
  const auto name = [](uint8_t width, const Bytes& bytes) {
    const auto record =
        decode_python_code(code_payload(field(width, bytes), field(0, {}), field(1, {})));
    return record ? record->code.name : "refused";
  };
  EXPECT_EQ(name(1, {'n', 0xe9}), "n\u00e9");
  EXPECT_EQ(name(2, {0x42, 0x30}), "\u3042");
  EXPECT_EQ(name(4, {0x00, 0xf6, 0x01, 0x00}), "\U0001f600");
  EXPECT_EQ(name(2, {0x00, 0xd8}),
            "\ufffd\ufffd\ufffd");  // a surrogate: three bytes of no character
  EXPECT_EQ(name(9, {'n'}), "refused");
}

TEST(PythonCode, WhatIsCutShortIsRefused) {
  const Bytes whole = code_payload(field(0, text("f")), field(0, text("w.py")), field(3, kTable));
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(decode_python_code(std::span(whole).first(size))) << size;
  }
}

TEST(PythonCode, AFrameNamesItsFunctionLineAndColumn) {
  PythonCodes codes;
  const uint64_t frame = wire::python_frame(3, 1 + 1);
  EXPECT_TRUE(wire::is_python_frame(frame));
  EXPECT_FALSE(wire::is_python_frame(wire::kShortThread));
  EXPECT_FALSE(codes.knows(frame));
  codes.add({3, {"f", "w.py", 7, {wire::PythonLineTable::kLocations, kTable}}});
  ASSERT_TRUE(codes.knows(frame));
  const recording::FrameName name = codes.name(frame);
  EXPECT_EQ(name.function, "f");
  EXPECT_EQ(name.line, 8u);
  EXPECT_EQ(name.column, 8u);
  EXPECT_EQ(codes.name(wire::python_frame(3, 0)).line, 7u);  // before its first instruction
  EXPECT_EQ(codes.name(wire::python_frame(3, 0)).column, 0u);
  EXPECT_EQ(codes.name(wire::python_frame(3, 5000)).line, 0u);
  EXPECT_TRUE(wire::is_python_frame(python_frame_row(name).address));
  recording::FrameName other = name;
  other.line = 9;
  EXPECT_NE(python_frame_row(name), python_frame_row(other));
  other = name;
  other.column = 9;
  EXPECT_NE(python_frame_row(name), python_frame_row(other));
}

}  // namespace
}  // namespace sampan::sampler

#include "base/byte_writer.h"

#include <gtest/gtest.h>

#include <array>

#include "base/byte_cursor.h"

namespace sampan {
namespace {

const uint64_t kValues[] = {0, 1, 127, 128, 16383, 16384, UINT32_MAX, UINT64_MAX - 1, UINT64_MAX};

TEST(ByteWriter, WritesWhatTheCursorReads) {
  std::array<uint8_t, 256> buffer{};
  ByteWriter writer(buffer);
  for (const uint64_t value : kValues) {
    writer.uleb(value);
    writer.zigzag(static_cast<int64_t>(value));
    writer.fixed(value);
  }
  ASSERT_TRUE(writer.ok());
  ByteCursor cursor(writer.written());
  for (const uint64_t value : kValues) {
    EXPECT_EQ(cursor.uleb(), value);
    EXPECT_EQ(cursor.zigzag(), static_cast<int64_t>(value));
    EXPECT_EQ(cursor.u64(), value);
  }
  EXPECT_TRUE(cursor.ok() && cursor.at_end());
}

TEST(ByteWriter, ZigzagGivesNumbersNearZeroOneByte) {
  std::array<uint8_t, 16> buffer{};
  ByteWriter writer(buffer);
  for (const int64_t value : {0, -1, 1, -64, 63}) writer.zigzag(value);
  const std::array<uint8_t, 5> expected = {0, 1, 2, 127, 126};
  ASSERT_EQ(writer.size(), expected.size());
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), buffer.begin()));
}

TEST(ByteWriter, NeverWritesPastItsBufferAndSaysSo) {
  for (size_t room = 0; room < 10; ++room) {
    std::array<uint8_t, 16> buffer{};
    buffer.fill(0xee);
    ByteWriter writer(std::span<uint8_t>(buffer).first(room));
    writer.uleb(UINT64_MAX);  // ten bytes
    EXPECT_FALSE(writer.ok()) << room;
    EXPECT_LE(writer.size(), room);
    for (size_t i = room; i < buffer.size(); ++i) EXPECT_EQ(buffer[i], 0xee) << room;
  }
}

TEST(ByteWriter, StaysFailed) {
  std::array<uint8_t, 4> buffer{};
  ByteWriter writer(buffer);
  writer.fixed(uint64_t{1});
  EXPECT_FALSE(writer.ok());
  writer.fixed(uint8_t{1});  // would fit
  EXPECT_FALSE(writer.ok());
  EXPECT_EQ(writer.size(), 0u);
}

}  // namespace
}  // namespace sampan

#include "base/byte_cursor.h"

#include <gtest/gtest.h>

#include <vector>

namespace sampan {
namespace {

using Bytes = std::vector<uint8_t>;

TEST(ByteCursor, ReadsLittleEndianIntegersAtAnyAlignment) {
  const Bytes bytes = {0xff, 0x34, 0x12, 0x78, 0x56, 0x34, 0x12, 8, 7, 6, 5, 4, 3, 2, 1};
  ByteCursor cursor(bytes);
  EXPECT_EQ(cursor.u8(), 0xff);
  EXPECT_EQ(cursor.u16(), 0x1234);
  EXPECT_EQ(cursor.u32(), 0x12345678u);
  EXPECT_EQ(cursor.u64(), 0x0102030405060708u);
  EXPECT_TRUE(cursor.ok());
  EXPECT_TRUE(cursor.at_end());
}

TEST(ByteCursor, FailsForGoodPastTheEndAndReturnsZeros) {
  const Bytes bytes = {1, 2, 3};
  ByteCursor cursor(bytes);
  EXPECT_EQ(cursor.u32(), 0u);
  EXPECT_FALSE(cursor.ok());
  EXPECT_EQ(cursor.u8(), 0);  // although three bytes were there
  EXPECT_EQ(cursor.remaining(), 0u);
  EXPECT_FALSE(cursor.ok());
}

// DWARF 5, figure 22 (unsigned) and 23 (signed) of section 7.6.
TEST(ByteCursor, ReadsTheLeb128ExamplesOfTheStandard) {
  const Bytes unsigned_bytes = {2, 127, 0x80, 1, 0x81, 1, 0x82, 1, 0xb9, 0x64};
  ByteCursor cursor(unsigned_bytes);
  for (const uint64_t expected : {2, 127, 128, 129, 130, 12857}) {
    EXPECT_EQ(cursor.uleb(), expected);
  }
  EXPECT_TRUE(cursor.ok() && cursor.at_end());

  const Bytes signed_bytes = {2,    0x7e, 0xff, 0,    0x81, 0x7f, 0x80,
                              0x01, 0x80, 0x7f, 0x81, 0x01, 0xff, 0x7e};
  cursor = ByteCursor(signed_bytes);
  for (const int64_t expected : {2, -2, 127, -127, 128, -128, 129, -129}) {
    EXPECT_EQ(cursor.sleb(), expected);
  }
  EXPECT_TRUE(cursor.ok() && cursor.at_end());
}

TEST(ByteCursor, ReadsTheExtremesOfLeb128) {
  const Bytes largest = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01};
  EXPECT_EQ(ByteCursor(largest).uleb(), UINT64_MAX);
  const Bytes smallest = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f};
  EXPECT_EQ(ByteCursor(smallest).sleb(), INT64_MIN);
}

TEST(ByteCursor, RefusesLeb128ThatIsTooLongOrCutOff) {
  const Bytes too_large = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02};
  const Bytes too_long(11, 0x80);
  const Bytes cut_off = {0x80, 0x80};
  for (const Bytes& bytes : {too_large, too_long, cut_off}) {
    ByteCursor cursor(bytes);
    EXPECT_EQ(cursor.uleb(), 0u);
    EXPECT_FALSE(cursor.ok());
  }
  for (const Bytes& bytes : {too_long, cut_off}) {
    ByteCursor cursor(bytes);
    EXPECT_EQ(cursor.sleb(), 0);
    EXPECT_FALSE(cursor.ok());
  }
}

TEST(ByteCursor, TakesBytesOnlyWhenAllAreThere) {
  const Bytes bytes = {1, 2, 3};
  ByteCursor cursor(bytes);
  EXPECT_EQ(cursor.take(2).size(), 2u);
  EXPECT_EQ(cursor.offset(), 2u);
  EXPECT_TRUE(cursor.take(2).empty());
  EXPECT_FALSE(cursor.ok());

  cursor = ByteCursor(bytes);
  cursor.skip(1);
  EXPECT_TRUE(cursor.take(SIZE_MAX).empty());  // offset + size would wrap
  EXPECT_FALSE(cursor.ok());
}

}  // namespace
}  // namespace sampan

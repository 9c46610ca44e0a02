#include "wire/ring.h"

#include <gtest/gtest.h>

#include "test_ring.h"

namespace sampan::wire {
namespace {

constexpr size_t kCapacity = 4096;

TEST(Ring, ReturnsRecordsInOrder) {
  TestRing ring(kCapacity);
  RingWriter writer = ring.writer();
  RingReader reader = ring.reader();
  EXPECT_EQ(drain(reader), "");
  // Every length of padding, and none.
  for (const char* text : {"", "1", "22", "7777777", "88888888", "999999999"}) {
    ASSERT_TRUE(put(writer, 3, text));
  }
  EXPECT_EQ(drain(reader), "3: 3:1 3:22 3:7777777 3:88888888 3:999999999");
  EXPECT_EQ(drain(reader), "");
  EXPECT_EQ(reader.corrupt(), 0u);
}

TEST(Ring, ARecordIsInvisibleBeforeItsCommit) {
  TestRing ring(kCapacity);
  RingWriter writer = ring.writer();
  RingReader reader = ring.reader();
  ASSERT_FALSE(writer.begin(100).empty());
  EXPECT_EQ(drain(reader), "");
  ASSERT_TRUE(put(writer, 1, "after"));  // takes the place of the abandoned one
  EXPECT_EQ(drain(reader), "1:after");
}

TEST(Ring, CommitsLessThanWasReserved) {
  TestRing ring(kCapacity);
  RingWriter writer = ring.writer();
  RingReader reader = ring.reader();
  const std::span<uint8_t> room = writer.begin(1000);
  ASSERT_EQ(room.size(), 1000u);
  room[0] = 'x';
  writer.commit(9, 1);
  ASSERT_TRUE(put(writer, 1, "next"));
  EXPECT_EQ(drain(reader), "9:x 1:next");
}

TEST(Ring, DropsAndCountsWhatDoesNotFit) {
  TestRing ring(kCapacity);
  RingWriter writer = ring.writer();
  RingReader reader = ring.reader();
  // 4096 / (8 header + 248 payload): 16 fit.
  const std::string payload(248, 'x');
  unsigned taken = 0;
  while (put(writer, 1, payload)) ++taken;
  EXPECT_EQ(taken, 16u);
  EXPECT_EQ(reader.dropped(), 1u);
  EXPECT_FALSE(put(writer, 1, ""));
  EXPECT_EQ(reader.dropped(), 2u);
  drain(reader);
  EXPECT_TRUE(put(writer, 2, "again"));
  EXPECT_EQ(drain(reader), "2:again");
  EXPECT_EQ(reader.corrupt(), 0u);
}

TEST(Ring, KeepsTheReserveForWritersWithoutOne) {
  TestRing ring(kCapacity);
  RingWriter writer = ring.writer();
  while (put(writer, 1, "12345678", 64)) {
  }
  EXPECT_TRUE(put(writer, 2, std::string(56, 'x')));
  EXPECT_FALSE(put(writer, 2, ""));
}

TEST(Ring, RefusesARecordLargerThanItself) {
  TestRing ring(kCapacity);
  RingWriter writer = ring.writer();
  EXPECT_TRUE(writer.begin(kCapacity).empty());
  EXPECT_FALSE(writer.begin(kCapacity - sizeof(RecordHeader)).empty());
}

TEST(Ring, KeepsRecordsWholeAcrossTheEndOfTheBuffer) {
  // Sizes that do not divide the capacity, so that records meet the end at every possible offset.
  TestRing ring(kCapacity);
  RingWriter writer = ring.writer();
  RingReader reader = ring.reader();
  uint64_t seed = 1;
  for (int i = 0; i < 20'000; ++i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    const std::string text(seed >> 54, static_cast<char>('a' + i % 26));  // 0..1023
    ASSERT_TRUE(put(writer, 7, text)) << i;
    ASSERT_EQ(drain(reader), "7:" + text) << i;
  }
  EXPECT_EQ(reader.corrupt(), 0u);
  EXPECT_EQ(reader.dropped(), 0u);
}

TEST(Ring, AReaderStopsAtItsLimit) {
  TestRing ring(kCapacity);
  RingWriter writer = ring.writer();
  RingReader reader = ring.reader();
  put(writer, 1, "before");
  const uint64_t limit = reader.head();
  put(writer, 1, "after");
  RingReader::Record record{};
  EXPECT_TRUE(reader.next(limit, record));
  EXPECT_FALSE(reader.next(limit, record));
  EXPECT_EQ(drain(reader), "1:after");
}

TEST(Ring, ARecordsPlaceIsFreedWhenTheReaderHasMovedOn) {
  TestRing ring(kCapacity);
  RingWriter writer = ring.writer();
  RingReader reader = ring.reader();
  ASSERT_TRUE(put(writer, 1, std::string(kCapacity - 8, 'x')));
  RingReader::Record record{};
  ASSERT_TRUE(reader.next(reader.head(), record));
  EXPECT_FALSE(put(writer, 1, "y"));  // the payload is still being read
  reader.release();
  EXPECT_TRUE(put(writer, 1, "y"));
}

}  // namespace
}  // namespace sampan::wire

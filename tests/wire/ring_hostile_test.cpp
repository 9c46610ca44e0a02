// The other side of a ring is another process, which may be broken or hostile.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <random>

#include "test_ring.h"
#include "wire/ring.h"

namespace sampan::wire {
namespace {

constexpr size_t kHostileRing = 4096;

TEST(HostileRing, AnInvalidPositionIsCountedAndSkipped) {
  for (const uint64_t head :
       {uint64_t{kHostileRing + 8}, uint64_t{4}, UINT64_MAX, uint64_t{1} << 63}) {
    TestRing ring(kHostileRing);
    RingReader reader = ring.reader();
    ring.positions->head = head;
    EXPECT_EQ(drain(reader), "") << head;
    EXPECT_EQ(reader.corrupt(), 1u) << head;
  }
}

TEST(HostileRing, AHeadThatGoesBackIsCorrupt) {
  TestRing ring(kHostileRing);
  RingWriter writer = ring.writer();
  RingReader reader = ring.reader();
  put(writer, 1, "one");
  drain(reader);
  ring.positions->head = 0;
  EXPECT_EQ(drain(reader), "");
  EXPECT_EQ(reader.corrupt(), 1u);
}

TEST(HostileRing, AnInvalidLengthIsCountedAndTheRestSkipped) {
  struct Change {
    const char* what;
    std::function<void(RecordHeader&)> apply;
  };
  const Change changes[] = {
      {"zero", [](RecordHeader& h) { h.size = 0; }},
      {"shorter than its header", [](RecordHeader& h) { h.size = 4; }},
      {"not a multiple of eight", [](RecordHeader& h) { h.size += 1; }},
      {"past what was published", [](RecordHeader& h) { h.size = 2048; }},
      {"past the buffer", [](RecordHeader& h) { h.size = UINT32_MAX & ~7u; }},
      {"more padding than payload",
       [](RecordHeader& h) {
         h.size = sizeof(RecordHeader);
         h.padding = 7;
       }},
      {"padding of eight", [](RecordHeader& h) { h.padding = 8; }},
  };
  for (const Change& change : changes) {
    TestRing ring(kHostileRing);
    RingWriter writer = ring.writer();
    RingReader reader = ring.reader();
    put(writer, 1, "victim");
    put(writer, 1, "lost with it");
    RecordHeader header{};
    std::memcpy(&header, ring.buffer.data(), sizeof header);
    change.apply(header);
    std::memcpy(ring.buffer.data(), &header, sizeof header);
    EXPECT_EQ(drain(reader), "") << change.what;
    EXPECT_EQ(reader.corrupt(), 1u) << change.what;
    put(writer, 1, "later");
    EXPECT_EQ(drain(reader), "1:later") << change.what;
    EXPECT_EQ(reader.corrupt(), 1u) << change.what;
  }
}

TEST(HostileRing, ARecordMayNotCrossTheEndOfTheBuffer) {
  TestRing ring(kHostileRing);
  RingWriter writer = ring.writer();
  RingReader reader = ring.reader();
  put(writer, 1, std::string(kHostileRing - 24, 'x'));  // 16 bytes are left
  drain(reader);
  const RecordHeader header{64, 1, 0, 0};
  std::memcpy(ring.buffer.data() + kHostileRing - 16, &header, sizeof header);
  ring.positions->head += 64;
  EXPECT_EQ(drain(reader), "");
  EXPECT_EQ(reader.corrupt(), 1u);
}

TEST(HostileRing, AWriterTreatsAnInvalidTailAsAFullRing) {
  for (const uint64_t tail : {uint64_t{8}, UINT64_MAX - kHostileRing, uint64_t{1} << 40}) {
    TestRing ring(kHostileRing);
    RingWriter writer = ring.writer();
    ring.positions->tail = tail;  // ahead of head, or far behind
    EXPECT_FALSE(put(writer, 1, "x")) << tail;
  }
}

TEST(HostileRing, AWriterTreatsAnInvalidHeadAsAFullRing) {
  TestRing ring(kHostileRing);
  RingWriter writer = ring.writer();
  ring.positions->head = kHostileRing - 4;  // the padding's header would cross the end
  ring.positions->tail = kHostileRing - 4;
  EXPECT_FALSE(put(writer, 1, "12345678"));
}

TEST(HostileRing, GarbageNeverLeadsOutsideTheBuffer) {
  std::mt19937_64 random(42);
  TestRing ring(kHostileRing);
  RingReader reader = ring.reader();
  const uint8_t* const begin = ring.buffer.data();
  const uint8_t* const end = begin + kHostileRing;
  for (int round = 0; round < 20'000; ++round) {
    // Mostly plausible headers, so that the reader gets past the first check.
    for (size_t i = 0; i < kHostileRing; i += 8) {
      const uint64_t word = random();
      const RecordHeader header{static_cast<uint32_t>(word % 200), static_cast<uint8_t>(word >> 60),
                                static_cast<uint8_t>((word >> 40) % 9), 0};
      std::memcpy(ring.buffer.data() + i, &header, sizeof header);
    }
    ring.positions->head += (random() % (kHostileRing + 64)) & ~(random() % 16 == 0 ? 0u : 7u);
    RingReader::Record record{};
    for (const uint64_t limit = reader.head(); reader.next(limit, record);) {
      ASSERT_NE(record.type, kPadding);
      ASSERT_GE(record.payload.data(), begin);
      ASSERT_LE(record.payload.data() + record.payload.size(), end);
    }
  }
  EXPECT_GT(reader.corrupt(), 0u);
}

}  // namespace
}  // namespace sampan::wire

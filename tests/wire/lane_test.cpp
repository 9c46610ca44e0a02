// A lane's producers and its consumer: alone, at the same time, and when one of them is broken.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "wire/marker_lane.h"

namespace sampan::wire {
namespace {

struct TestLane {
  LaneWriter writer() { return {&positions, cells}; }
  LaneReader reader() { return {&positions, cells}; }

  LanePositions positions{};
  std::vector<MarkerCell> cells{kLaneCells};
};

MarkerRecord record(uint64_t number) {
  MarkerRecord record{};
  record.type = static_cast<uint8_t>(MarkerType::kEvent);
  record.name = kInlineName;
  for (uint64_t& value : record.value) value = number;
  return record;
}

std::string text_of(std::span<const uint8_t> bytes) {
  return {bytes.begin(), bytes.end()};
}

// The texts of all records that can be read now.
std::string read_all(LaneReader& reader) {
  std::string all;
  LaneReader::Marker marker;
  while (reader.next(reader.head(), marker)) all += text_of(marker.name) + ",";
  return all;
}

TEST(Lane, ReturnsRecordsInOrder) {
  TestLane lane;
  LaneWriter writer = lane.writer();
  LaneReader reader = lane.reader();
  const std::string longest(kMaxMarkerText, 'x');
  for (uint64_t round = 0; round < 3 * kLaneCells; ++round) {  // around the end, more than once
    ASSERT_TRUE(
        writer.write(record(round), longest.substr(0, round % (kMaxMarkerText + 1)), "text"));
    LaneReader::Marker marker;
    ASSERT_TRUE(reader.next(reader.head(), marker));
    ASSERT_EQ(marker.record.value[4], round);
    ASSERT_EQ(marker.name.size(), round % (kMaxMarkerText + 1));
    ASSERT_EQ(text_of(marker.text), "text");
    ASSERT_FALSE(reader.next(reader.head(), marker));
  }
  EXPECT_EQ(reader.corrupt() + reader.holes() + reader.dropped(), 0u);
}

TEST(Lane, DropsAndCountsWhatDoesNotFit) {
  TestLane lane;
  LaneWriter writer = lane.writer();
  LaneReader reader = lane.reader();
  size_t written = 0;
  for (size_t i = 0; i < kLaneCells + 10; ++i) written += writer.write(record(i));
  EXPECT_EQ(written, kLaneCells);
  EXPECT_EQ(reader.dropped(), 10u);
  EXPECT_FALSE(reader.blocked(reader.head() - kLaneCells));
  LaneReader::Marker marker;
  size_t read = 0;
  while (reader.next(reader.head(), marker)) ++read;
  EXPECT_EQ(read, kLaneCells);
  EXPECT_TRUE(writer.write(record(0)));
}

TEST(Lane, AHoleIsSkippedOnceTheNextRecordIsPublished) {
  TestLane lane;
  LaneWriter writer = lane.writer();
  LaneReader reader = lane.reader();
  writer.write(record(0), "a");
  lane.positions.head.fetch_add(3);  // claimed, and never published
  EXPECT_EQ(read_all(reader), "a,");
  EXPECT_TRUE(reader.blocked(reader.head()));
  reader.step_over_hole(reader.head(), false);
  EXPECT_EQ(reader.holes(), 0u) << "it may still be written";
  writer.write(record(0), "b");
  EXPECT_EQ(read_all(reader), "");
  reader.step_over_hole(reader.head(), false);
  EXPECT_EQ(read_all(reader), "b,");
  EXPECT_EQ(reader.holes(), 1u);
  lane.positions.head.fetch_add(1);
  reader.step_over_hole(reader.head(), true);
  EXPECT_EQ(reader.holes(), 2u);
  EXPECT_FALSE(reader.blocked(reader.head()));
  EXPECT_EQ(reader.corrupt(), 0u);
}

TEST(Lane, InvalidRecordsAreSkipped) {
  for (const int broken : {0, 1, 2, 3}) {
    TestLane lane;
    LaneWriter writer = lane.writer();
    LaneReader reader = lane.reader();
    writer.write(record(0), "bad");
    writer.write(record(0), "good");
    MarkerRecord bad{};
    std::memcpy(&bad, lane.cells[0].bytes, sizeof bad);
    if (broken == 0) bad.cells = 0;
    if (broken == 1) bad.cells = 255;
    if (broken == 2) bad.name_size = 4000;
    if (broken == 3) bad.text_size = 54;
    std::memcpy(lane.cells[0].bytes, &bad, sizeof bad);
    EXPECT_EQ(read_all(reader), "good,") << broken;
    EXPECT_EQ(reader.corrupt(), 1u) << broken;
  }
}

TEST(Lane, InvalidPositionsAreCounted) {
  TestLane lane;
  LaneReader reader = lane.reader();
  LaneReader::Marker marker;
  for (const uint64_t head : {uint64_t{1} << 40, uint64_t{5}, UINT64_MAX}) {
    lane.positions.head = head;
    EXPECT_FALSE(reader.next(reader.head(), marker));
  }
  EXPECT_EQ(reader.corrupt(), 3u);
  EXPECT_FALSE(reader.blocked(UINT64_MAX));
}

TEST(Lane, ConcurrentProducersLoseOnlyWhatIsCounted) {
  constexpr uint64_t kRecords = 100'000;
  constexpr uint64_t kProducers = 3;
  auto lane = std::make_unique<TestLane>();
  std::atomic<uint64_t> done = 0;
  std::vector<std::thread> producers;
  for (uint64_t producer = 0; producer < kProducers; ++producer) {
    producers.emplace_back([&, producer] {
      LaneWriter writer = lane->writer();
      const std::string name(60, 'n');
      for (uint64_t i = 1; i <= kRecords; ++i) {
        // Payloads of one cell, two and three.
        const std::string_view text = std::string_view(name).substr(0, i % 61);
        if (!writer.write(record(i * kProducers + producer), text, text)) std::this_thread::yield();
      }
      ++done;
    });
  }
  LaneReader reader = lane->reader();
  std::vector<uint64_t> last(kProducers);
  uint64_t received = 0;
  for (bool finished = false; !finished;) {
    finished = done == kProducers;  // read before the head: what comes before is then seen
    LaneReader::Marker marker;
    for (const uint64_t limit = reader.head(); reader.next(limit, marker); ++received) {
      const uint64_t number = marker.record.value[0];
      for (const uint64_t value : marker.record.value) ASSERT_EQ(value, number);
      ASSERT_GT(number, last[number % kProducers]);
      last[number % kProducers] = number;
      ASSERT_EQ(marker.name.size(), number / kProducers % 61);
      ASSERT_EQ(text_of(marker.name), text_of(marker.text));
    }
    std::this_thread::yield();
  }
  for (std::thread& producer : producers) producer.join();
  EXPECT_EQ(received + reader.dropped(), kProducers * kRecords);
  EXPECT_GT(received, kProducers);
  EXPECT_EQ(reader.corrupt() + reader.holes(), 0u);
}

}  // namespace
}  // namespace sampan::wire

#include "recording/alignment.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace sampan::recording {
namespace {

Mark mark(uint32_t number, uint64_t ms) {
  return {"", number, UnixNs::at(ms * 1'000'000)};
}

Timing timing(const char* host, uint64_t start_ms, uint64_t end_ms, std::vector<Mark> marks = {}) {
  return {
      host, UnixNs::at(start_ms * 1'000'000), UnixNs::at(end_ms * 1'000'000), {}, std::move(marks)};
}

TEST(Alignment, OfClocksSaysWhatIsKnownAboutThem) {
  std::vector<Timing> inputs = {timing("a", 1000, 2000), timing("a", 1500, 2000)};
  EXPECT_EQ(words(align(inputs, {})), "at the times of their host's clock");
  inputs.push_back(timing("b", 1200, 2000));
  EXPECT_FALSE(align(inputs, {}).clock_error_ns);
  for (Timing& input : inputs) input.clock_error_ns = input.host == "a" ? 300'000 : 500'000;
  const Alignment alignment = align(inputs, {});
  EXPECT_EQ(alignment.how, Align::kClock);
  EXPECT_EQ(alignment.later_ns, (std::vector<uint64_t>{0, 500'000'000, 200'000'000}));
  EXPECT_EQ(words(alignment), "at the times of the clocks of 2 hosts, which were right to 0.8 ms");
}

TEST(Alignment, OfRunsThatDidNotOverlapIsByTheirStarts) {
  const Alignment alignment =
      align(std::vector<Timing>{timing("a", 1000, 2000), timing("a", 3000, 4000)}, {});
  EXPECT_EQ(alignment.how, Align::kStart);
  EXPECT_EQ(alignment.later_ns, (std::vector<uint64_t>{0, 0}));
}

// The clock of "b" is 700 ms ahead; its second barrier ends 2 ms late. "c" has no barrier.
TEST(Alignment, ByMarksSeesHowFarClocksAreApart) {
  const std::vector<Timing> inputs = {
      timing("a", 1000, 2000, {mark(0, 1100), mark(1, 1200), mark(2, 1300)}),
      timing("b", 1700, 2700, {mark(0, 1800), mark(1, 1902), mark(2, 2000)}),
      timing("c", 1050, 2000)};
  const Alignment alignment = align(inputs, Align::kMarks);
  EXPECT_EQ(alignment.later_ns, (std::vector<uint64_t>{0, 0, 50'000'000}));
  EXPECT_EQ(alignment.marks, 3u);
  EXPECT_EQ(alignment.apart_ns, 2'000'000u);
  EXPECT_EQ(alignment.without_marks, 1u);
  EXPECT_EQ(words(alignment),
            "by 3 markers in common, which are then at most 2 ms apart; 1 of them have none of "
            "these markers, and are "
            "at the times of their clocks");
}

TEST(Alignment, ByMarksNeedsSomeInCommon) {
  EXPECT_THROW(
      align(std::vector<Timing>{timing("a", 1, 2, {mark(0, 1)}), timing("b", 1, 2, {mark(7, 1)})},
            Align::kMarks),
      Error);
}

TEST(Alignment, MarksAreTheEndsOfSpansAndTheEvents) {
  Recording recording;
  recording.session.start_unix_ns = 1'000'000;
  recording.markers.texts = {"", "barrier", "other", "last"};
  recording.markers.spans = {
      {.begin_ns = 5, .end_ns = 20, .id = 1, .name = 1},
      {.begin_ns = 1, .end_ns = 9, .id = 2, .name = 1},
      {.begin_ns = 1, .end_ns = 9, .id = 3, .name = 2},
      {.begin_ns = 1, .end_ns = 99, .id = 4, .name = 1, .closed = Closed::kByThreadEnd}};
  recording.markers.events = {{.time_ns = 30, .name = 1, .text = 3}};
  const std::vector<Mark> marks = marks_of(recording, "barrier");
  ASSERT_EQ(marks.size(), 3u);
  EXPECT_EQ(marks[0].time_ns, UnixNs(1'000'009));
  EXPECT_EQ(marks[1].number, 1u);
  EXPECT_EQ(marks[2].text, "last");
  EXPECT_EQ(marks[2].number, 0u);
}

}  // namespace
}  // namespace sampan::recording

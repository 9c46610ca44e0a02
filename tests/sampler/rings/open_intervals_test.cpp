// Spans and sections that a program begins and never ends.
#include "sampler/rings/open_intervals.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>

#include "recording/segments.h"

namespace sampan::sampler {
namespace {

class OpenIntervalsTest : public testing::Test {
 protected:
  OpenIntervalsTest() : path_(testing::TempDir() + "open_intervals.sampan") {
    std::filesystem::remove(path_);
    writer_.emplace(path_, recording::Session{});
    intervals_.emplace(*writer_, 0, OpenIntervals::Switches{}, SessionNs{0});
  }
  ~OpenIntervalsTest() override { std::filesystem::remove(path_); }

  // Begins as many as are kept, and `more`; then ends one that is kept and one that is not.
  void begin_and_end(OpenIntervals::Kind begin, OpenIntervals::Kind end, uint64_t more) {
    for (uint64_t i = 0; i < OpenIntervals::kMostOpen + more; ++i) {
      intervals_->add({.kind = begin,
                       .time_ns = SessionNs::at(i),
                       .thread = 0,
                       .id = i,
                       .name = std::to_string(i)});
    }
    for (const uint64_t i : {uint64_t{0}, uint64_t{OpenIntervals::kMostOpen}}) {
      intervals_->add({.kind = end,
                       .time_ns = SessionNs::at(1 << 20),
                       .thread = 0,
                       .id = i,
                       .name = std::to_string(i)});
    }
    intervals_->apply(SessionNs::at(1 << 21), texts_);
  }

  std::string path_;
  std::optional<recording::Writer> writer_;
  std::optional<OpenIntervals> intervals_;
  OpenIntervals::Texts texts_;
};

TEST_F(OpenIntervalsTest, SpansBeyondTheBoundAreCounted) {
  begin_and_end(OpenIntervals::Kind::kSpanBegin, OpenIntervals::Kind::kSpanEnd, 3);
  EXPECT_EQ(intervals_->unmatched(), 3 + 1);
}

TEST_F(OpenIntervalsTest, SectionsBeyondTheBoundAreCounted) {
  begin_and_end(OpenIntervals::Kind::kSectionStart, OpenIntervals::Kind::kSectionStop, 3);
  EXPECT_EQ(intervals_->unmatched(), 3 + 1);
}

}  // namespace
}  // namespace sampan::sampler

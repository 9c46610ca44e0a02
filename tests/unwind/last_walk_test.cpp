#include "unwind/last_walk.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>

namespace sampan::unwind {
namespace {

struct FramePlace {
  uint64_t pc, sp;
};

PackedRow row_of(uint64_t pc) {
  return {PackedRow::kFromSp, pc, 0, 0};
}

class LastWalkTest : public testing::Test {
 protected:
  // A walk of these frames, leaf first. Returns how many of them had a row.
  unsigned walk(std::initializer_list<FramePlace> places, uint64_t generation = 1) {
    LastWalk::Pass pass(last.get(), generation);
    unsigned found = 0;
    uint32_t depth = 0;
    for (const FramePlace& place : places) {
      const PackedRow row = pass.find(place.pc, place.sp);
      if (row.is_row()) {
        ++found;
        EXPECT_EQ(row.bits(), row_of(place.pc).bits());
      }
      pass.add(depth++, place.pc, place.sp, row_of(place.pc));
    }
    pass.end(depth);
    return found;
  }

  std::unique_ptr<LastWalk> last = std::make_unique<LastWalk>();
};

TEST_F(LastWalkTest, FindsFramesAtTheSamePlace) {
  EXPECT_EQ(walk({{10, 100}, {20, 200}, {30, 300}}), 0u);
  EXPECT_EQ(walk({{10, 100}, {20, 200}, {30, 300}}), 3u);
}

TEST_F(LastWalkTest, FindsTheCallersOfFramesThatCameAndWent) {
  walk({{20, 200}, {30, 300}});
  EXPECT_EQ(walk({{11, 50}, {12, 100}, {21, 200}, {30, 300}}), 1u);  // deeper, another pc
  EXPECT_EQ(walk({{30, 300}}), 1u);
  EXPECT_EQ(walk({{21, 200}, {30, 300}}), 1u);
}

TEST_F(LastWalkTest, AFrameElsewhereIsAnotherOne) {
  walk({{10, 100}, {10, 200}});
  EXPECT_EQ(walk({{10, 101}, {10, 201}}), 0u);
  EXPECT_EQ(walk({{10, 201}}), 1u);
}

// As when a signal has come on an alternate stack above.
TEST_F(LastWalkTest, AStackThatGoesOnBelowIsFoundAgain) {
  EXPECT_EQ(walk({{15, 900}, {10, 100}, {20, 200}}), 0u);
  EXPECT_EQ(walk({{15, 900}, {10, 100}, {20, 200}}), 3u);
}

TEST_F(LastWalkTest, AnotherGenerationHasOtherRows) {
  walk({{10, 100}});
  EXPECT_EQ(walk({{10, 100}}, 2), 0u);
  EXPECT_EQ(walk({{10, 100}}, 2), 1u);
  EXPECT_EQ(walk({{10, 100}}, 1), 0u);
}

TEST_F(LastWalkTest, FramesBeyondItsRoomAreNotKept) {
  for (unsigned expected : {0u, LastWalk::kMostFrames}) {
    LastWalk::Pass pass(last.get(), 1);
    unsigned found = 0;
    for (uint32_t i = 0; i < LastWalk::kMostFrames + 10; ++i) {
      found += pass.find(i, i * 8).is_row();
      pass.add(i, i, i * 8, row_of(i));
    }
    pass.end(LastWalk::kMostFrames + 10);
    EXPECT_EQ(found, expected);
  }
}

TEST_F(LastWalkTest, WithoutALastWalkNothingIsFound) {
  LastWalk::Pass pass(nullptr, 1);
  pass.add(0, 10, 100, row_of(10));
  pass.end(1);
  EXPECT_FALSE(pass.find(10, 100).is_row());
}

}  // namespace
}  // namespace sampan::unwind

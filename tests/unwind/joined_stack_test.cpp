#include "unwind/joined_stack.h"

#include <gtest/gtest.h>

#include <vector>

namespace sampan::unwind {
namespace {

// The frames 1 to `count`, and their CFAs, which are 100 more.
struct Joined {
  std::vector<uint64_t> frames, cfas;

  Joined(size_t room, uint32_t count) : frames(room), cfas(room) {
    const JoinedStack joined(room);
    for (uint32_t i = 0; i < count; ++i) {
      frames[joined.place(i)] = i + 1;
      cfas[joined.place(i)] = i + 101;
    }
    const uint32_t depth = joined.join(count, frames, cfas.data());
    frames.resize(depth);
    cfas.resize(depth);
  }
};

constexpr uint64_t kMark = wire::kFramesLeftOut;

TEST(JoinedStackTest, WhatFitsIsWhole) {
  EXPECT_EQ(Joined(6, 0).frames, std::vector<uint64_t>{});
  EXPECT_EQ(Joined(6, 4).frames, (std::vector<uint64_t>{1, 2, 3, 4}));
  EXPECT_EQ(Joined(6, 6).frames, (std::vector<uint64_t>{1, 2, 3, 4, 5, 6}));
}

TEST(JoinedStackTest, OfWhatDoesNotFitTheMiddleIsLeftOut) {
  EXPECT_EQ(Joined(6, 7).frames, (std::vector<uint64_t>{1, 2, 3, kMark, 6, 7}));
  EXPECT_EQ(Joined(6, 8).frames, (std::vector<uint64_t>{1, 2, 3, kMark, 7, 8}));
  EXPECT_EQ(Joined(7, 100).frames, (std::vector<uint64_t>{1, 2, 3, kMark, 98, 99, 100}));
}

TEST(JoinedStackTest, TheMarkHasTheCfaOfTheLastFrameThatIsLeftOut) {
  EXPECT_EQ(Joined(6, 8).cfas, (std::vector<uint64_t>{101, 102, 103, 106, 107, 108}));
}

}  // namespace
}  // namespace sampan::unwind

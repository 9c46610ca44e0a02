#include "base/time_namespace.h"

#include <gtest/gtest.h>

namespace sampan {
namespace {

TEST(TimeNamespace, TheOffsetOfTheMonotonicClock) {
  EXPECT_EQ(
      monotonic_offset_ns("monotonic           0         0\nboottime            7         8\n"), 0);
  EXPECT_EQ(
      monotonic_offset_ns("monotonic     1000000         5\nboottime            0         0\n"),
      1'000'000'000'000'005);
  EXPECT_EQ(
      monotonic_offset_ns("monotonic       -1000 500000000\nboottime            0         0\n"),
      -999'500'000'000);
  EXPECT_EQ(monotonic_offset_ns(""), 0);
}

TEST(TimeNamespace, TimesAreOfTheMachine) {
  monotonic_ahead_ns = -50;
  EXPECT_EQ(of_machine(100), 150u);
  monotonic_ahead_ns = 50;
  EXPECT_EQ(of_machine(100), 50u);
  monotonic_ahead_ns = 0;
  EXPECT_EQ(of_machine(100), 100u);
}

}  // namespace
}  // namespace sampan

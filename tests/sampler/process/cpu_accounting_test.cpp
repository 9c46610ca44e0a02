#include "sampler/process/cpu_accounting.h"

#include <gtest/gtest.h>

namespace sampan::sampler {
namespace {

TEST(StolenTicks, AreTheEighthFieldOfAllCpus) {
  EXPECT_EQ(stolen_ticks("cpu  1521229 5734 192384 810479 8020 0 13666 364683 7 9\ncpu0 1 2\n"),
            364683u);
}

TEST(StolenTicks, AreNoneWhereTheKernelDoesNotSay) {
  EXPECT_EQ(stolen_ticks(""), 0u);
  EXPECT_EQ(stolen_ticks("cpu  1 2 3 4 5 6 7\n"), 0u);  // as before Linux 2.6.11
  EXPECT_EQ(stolen_ticks("cpu  1 2 3 4 5 6 7 "), 0u);
  EXPECT_EQ(stolen_ticks("cpu  1 2 3 4 5 6 7 -"), 0u);
  EXPECT_EQ(stolen_ticks("cpu0 1 2 3 4 5 6 7 8\n"), 0u);
}

// The thread runs all the time, and its account is updated at each tick. The estimate is never more
// than what was stolen, and soon at most a tick less.
TEST(LeastStolen, IsWhatTheAccountCannotCatchUpWith) {
  constexpr uint64_t kTick = 4, kStep = 1;
  uint64_t perf = 100, cpu = 100, accounted = 100, stolen = 0, known = 0;
  for (int step = 0; step < 1000; ++step) {
    const bool is_stolen = step % 10 >= 7;
    perf += kStep;
    (is_stolen ? stolen : cpu) += kStep;
    if (step % kTick == 0) accounted = cpu;
    known = std::max(known, least_stolen(perf, CpuNs::at(accounted), kTick));
    EXPECT_LE(known, stolen);
    EXPECT_GE(known + 2 * kTick, stolen);
  }
  EXPECT_EQ(stolen, 300u);
}

TEST(LeastStolen, IsNothingWhereTheAccountIsAhead) {
  EXPECT_EQ(least_stolen(100, 120, 4), 0u);
  EXPECT_EQ(least_stolen(100, 97, 4), 0u);
  EXPECT_EQ(least_stolen(100, 90, 4), 6u);
}

}  // namespace
}  // namespace sampan::sampler

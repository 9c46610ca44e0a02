#include "preload/wrappers/exponential.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sampan::preload {
namespace {

TEST(Exponential, TheLogarithmIsThatOfTheMathLibrary) {
  uint64_t random = 1;
  for (int i = 0; i < 1'000'000; ++i) {
    // Values of all magnitudes, and near 1, where the result is near 0.
    const double unit = static_cast<double>((next_random(random) >> 11) + 1) / 9007199254740992.0;
    for (const double u : {unit, std::pow(unit, 20), 1 - unit / 1000, 1 - unit * 1e-12}) {
      if (u <= 0 || u >= 1) continue;
      const double truth = -std::log(u);
      ASSERT_NEAR(minus_log(u), truth, 1e-12 * truth) << u;
    }
  }
  EXPECT_EQ(minus_log(1), 0);
}

TEST(Exponential, DistancesHaveTheMeanAndTheSpread) {
  constexpr int kDraws = 4'000'000;
  for (const uint64_t mean : {uint64_t{1}, uint64_t{100}, uint64_t{512} << 10, uint64_t{1} << 30}) {
    uint64_t random = mean;
    double sum = 0, squares = 0;
    for (int i = 0; i < kDraws; ++i) {
      const auto distance = static_cast<double>(draw_distance(random, mean));
      ASSERT_GE(distance, 1);
      sum += distance;
      squares += distance * distance;
    }
    // A distance that is rounded up is geometric: 1 / (1 - exp(-1 / mean)) on average.
    const double expected = -1 / std::expm1(-1 / static_cast<double>(mean));
    const double deviation = std::sqrt(expected * (expected - 1));
    EXPECT_NEAR(sum / kDraws, expected, 5 * deviation / std::sqrt(kDraws)) << mean;
    const double variance = squares / kDraws - (sum / kDraws) * (sum / kDraws);
    EXPECT_NEAR(variance, deviation * deviation, 0.01 * deviation * deviation) << mean;
  }
}

// An allocation of S bytes has the drawn one with probability 1 - exp(-S / mean).
TEST(Exponential, AllocationsAreDrawnAsTheyWeigh) {
  constexpr uint64_t kMean = 1000;
  constexpr int kAllocations = 1'000'000;
  for (const uint64_t size : {uint64_t{1}, uint64_t{16}, uint64_t{700}, uint64_t{5000}}) {
    uint64_t random = size, left = draw_distance(random, kMean);
    int drawn = 0;
    for (int i = 0; i < kAllocations; ++i) {
      if (size < left) {
        left -= size;
      } else {
        ++drawn;
        left = draw_distance(random, kMean);
      }
    }
    const double p = -std::expm1(-static_cast<double>(size) / kMean);
    EXPECT_NEAR(drawn, kAllocations * p, 5 * std::sqrt(kAllocations * p * (1 - p))) << size;
  }
}

}  // namespace
}  // namespace sampan::preload

#include "profile/rates.h"

#include <gtest/gtest.h>

#include "base/units.h"

namespace sampan::profile {
namespace {

Profile profile_of(uint32_t asked_hz, std::vector<profile::RateChange> changes,
                   std::vector<profile::Cost> costs = {}) {
  profile::Profile profile;
  profile.session.rate_hz = asked_hz;
  profile.rates = {std::move(changes), std::move(costs)};
  return profile;
}

TEST(Rates, WithoutAChangeTheyAreWhatWasAsked) {
  EXPECT_EQ(rate_text(profile_of(250, {})), "250 Hz asked");
}

TEST(Rates, WhatHeldIsSaid) {
  EXPECT_EQ(rate_text(profile_of(
                4000, {{0, 100, true}, {kNsPerSecond, 420, true}, {5 * kNsPerSecond, 380, true}})),
            "4000 Hz asked, 100 to 420 Hz held, 380 Hz last (--max-overhead)");
  EXPECT_EQ(rate_text(profile_of(100, {{kNsPerSecond, 400, false}})),
            "100 Hz asked, 100 to 400 Hz held, 400 Hz last")
      << "before the first change it was what was asked";
  EXPECT_EQ(rate_text(profile_of(4000, {{0, 100, true}})),
            "4000 Hz asked, 100 Hz held (--max-overhead)");
}

TEST(Rates, ClocksAboveTheTickAreNamed) {
  Profile profile = profile_of(1000, {});
  profile.end.emplace().sampling_clocks = profile::SessionEnd::kDrumClock;
  EXPECT_EQ(rate_text(profile), "1000 Hz asked, sampling clock drum");
  profile.end->sampling_clocks |= profile::SessionEnd::kPerfClock;
  EXPECT_EQ(rate_text(profile), "1000 Hz asked, sampling clock perf and drum");
}

TEST(Rates, TheCostIsWhatGrew) {
  const profile::Cost before{0, 2 * kNsPerSecond, kNsPerSecond / 10, kNsPerSecond / 10};
  const profile::Cost after{kNsPerSecond, 4 * kNsPerSecond + kNsPerSecond / 10, kNsPerSecond / 5,
                            kNsPerSecond / 8};
  const auto cost = profile::cost(profile_of(100, {}, {before, after}));
  ASSERT_TRUE(cost);
  EXPECT_EQ(cost->target_ns, 2 * kNsPerSecond + kNsPerSecond / 10);
  EXPECT_EQ(cost->in_target_ns, kNsPerSecond / 10);
  EXPECT_EQ(cost->recorder_ns, kNsPerSecond / 40);
  EXPECT_EQ(cost_text(profile_of(100, {}, {before, after})),
            "0.125 s of CPU, 6.25 % of the program's: 5.00 % in it, 1.25 % sampan");
}

TEST(Rates, TheCostOfAnIdleProgramIsAShareOfOneCpu) {
  const profile::Cost after{2 * kNsPerSecond, 4 * kNsPerMs, 2 * kNsPerMs, 18 * kNsPerMs};
  EXPECT_EQ(
      cost_text(profile_of(100, {}, {{}, after})),
      "0.020 s of CPU, 1.00 % of one CPU, as the program is idle: 0.10 % in it, 0.90 % sampan");
}

TEST(Rates, OfWhatNothingIsKnownNothingIsSaid) {
  EXPECT_EQ(cost_text(profile_of(100, {})), "");
  EXPECT_EQ(cost_text(profile_of(100, {}, {{}, {}})), "") << "no CPU was used";
  EXPECT_EQ(cost_text(profile_of(100, {}, {{}, {1, 5, 5, 1}})), "")
      << "the CPU of children that ended is not known";
  // A damaged recording may say anything.
  EXPECT_EQ(cost_text(profile_of(100, {}, {{}, {1, 5, UINT64_MAX, UINT64_MAX}})), "");
  EXPECT_NE(cost_text(profile_of(100, {}, {{}, {1, UINT64_MAX, 5, UINT64_MAX}})), "");
}

}  // namespace
}  // namespace sampan::profile

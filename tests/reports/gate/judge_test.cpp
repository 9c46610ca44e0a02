// The verdicts are right as often as judge.h says, over many runs of programs that are made up.
#include "reports/gate/judge.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "profile/statistics.h"

namespace sampan::reports {
namespace {

constexpr double kLimit = 0.05;
constexpr double kAlarm = 0.001;
constexpr unsigned kGates = 1000;
constexpr unsigned kManyGates = 10'000;  // for what is rare

// Runs of 2 s that differ by `noise` of it.
std::vector<double> runs(std::mt19937& random, unsigned count, double growth, double noise) {
  std::normal_distribution<double> normal(2 * (1 + growth), 2 * noise);
  std::vector<double> values(count);
  for (double& value : values) value = normal(random);
  return values;
}

struct Counts {
  unsigned held = 0, broken = 0, unknown = 0;
};

Counts judged(unsigned gates, unsigned count, double growth, double noise, bool paired) {
  std::mt19937 random(1);
  Counts counts;
  for (unsigned i = 0; i < gates; ++i) {
    const std::vector<double> before = runs(random, count, 0, noise),
                              now = runs(random, count, growth, noise);
    const Estimate estimate =
        paired ? paired_growth(before, now) : growth_of(series_of(before), series_of(now));
    switch (judge_growth(estimate, kLimit, kAlarm).verdict) {
      case Verdict::kHeld: ++counts.held; break;
      case Verdict::kBroken: ++counts.broken; break;
      case Verdict::kUnknown: ++counts.unknown; break;
    }
  }
  return counts;
}

// The largest number of `gates` that a probability explains; by chance more happen once in a million.
unsigned at_most(unsigned gates, double probability) {
  for (unsigned hits = 0; hits < gates; ++hits) {
    if (profile::binomial_tail(gates, probability, hits + 1) < 1e-6) return hits;
  }
  return gates;
}

// A project may ask for less certainty, with fewer runs.
TEST(Judge, MoreFalseAlarmsNeedFewerRuns) {
  constexpr double kLax = 0.1;
  const Estimate some = growth_of({1, 1e-9, 1000}, {1.03, 1e-3, 10});
  EXPECT_LT(judge_growth(some, kLimit, kLax).runs_needed,
            judge_growth(some, kLimit, kAlarm).runs_needed);
  std::mt19937 random(1);
  unsigned broken = 0;
  for (unsigned i = 0; i < kGates; ++i) {
    const Series before = series_of(runs(random, 10, 0, 0.04)),
                 now = series_of(runs(random, 10, 0, 0.04));
    broken += judge_growth(growth_of(before, now), kLimit, kLax).verdict == Verdict::kBroken;
  }
  EXPECT_LE(broken, at_most(kGates, kLax));
  EXPECT_GT(broken, at_most(kGates, kAlarm));
}

TEST(Judge, EqualProgramsBreakNoGate) {
  for (const bool paired : {false, true}) {
    for (const unsigned count : {3u, 5u, 20u, 40u}) {
      const Counts counts = judged(kManyGates, count, 0, 0.02, paired);
      EXPECT_LE(counts.broken, at_most(kManyGates, 0.001)) << count << " " << paired;
    }
  }
}

TEST(Judge, AGrowthOfTheLimitDoesNotPass) {
  for (const bool paired : {false, true}) {
    for (const unsigned count : {3u, 5u, 20u}) {
      for (const double noise : {0.002, 0.02, 0.1}) {
        const Counts counts = judged(kGates, count, kLimit, noise, paired);
        EXPECT_LE(counts.held, at_most(kGates, 0.01)) << count << " " << noise << " " << paired;
      }
    }
  }
}

// What the gate calls enough is enough: a growth of the limit is then found.
TEST(Judge, SaysHowManyRunsAreEnough) {
  std::mt19937 random(2);
  for (const double noise : {0.02, 0.04}) {
    unsigned needed = 0;
    double sum = 0;
    for (unsigned i = 0; i < 200; ++i) {
      const auto estimate = paired_growth(runs(random, 4, 0, noise), runs(random, 4, 0, noise));
      const Judgement judgement = judge_growth(estimate, kLimit, kAlarm);
      if (judgement.verdict != Verdict::kUnknown) continue;
      sum += static_cast<double>(judgement.runs_needed);
      ++needed;
    }
    ASSERT_GT(needed, 20u);
    const auto enough = static_cast<unsigned>(std::ceil(sum / needed));
    const Counts equal = judged(1000, enough, 0, noise, true);
    const Counts grown = judged(1000, enough, kLimit, noise, true);
    EXPECT_GE(grown.broken, 950u) << noise << ", " << enough << " runs";
    EXPECT_GE(equal.held, 950u) << noise << ", " << enough << " runs";
  }
}

// More runs do not make a baseline file better.
TEST(Judge, ABaselineOfFewRunsMayNeverBeEnough) {
  constexpr double kFine = 0.012;
  const Series now{1, 1e-4, 5};
  EXPECT_EQ(judge_growth(growth_of({1, 1e-2, 4}, now), kLimit, kAlarm).runs_needed, 0u);
  const uint64_t needed = judge_growth(growth_of({1, 1e-4, 100}, now), kFine, kAlarm).runs_needed;
  ASSERT_GT(needed, 5u);
  const Estimate then = growth_of({1, 1e-4, 100}, {1, 1e-4, needed});
  EXPECT_EQ(judge_growth(then, kFine, kAlarm).verdict, Verdict::kHeld);
}

TEST(Judge, PairsCancelWhatBothSaw) {
  std::vector<double> before, now;
  for (const double drift : {1.0, 1.5, 0.7, 1.2, 2.0}) {  // of the machine
    before.push_back(drift);
    now.push_back(drift * 1.1);
  }
  EXPECT_EQ(judge_growth(paired_growth(before, now), kLimit, kAlarm).verdict, Verdict::kBroken);
  EXPECT_EQ(judge_growth(growth_of(series_of(before), series_of(now)), kLimit, kAlarm).verdict,
            Verdict::kUnknown);
}

// Another program slows a third of the runs by a half. For the mean of all pairs a thousand runs would be enough.
TEST(Judge, RunsThatWereDisturbedCountLittle) {
  std::mt19937 random(3);
  std::bernoulli_distribution disturbed(0.3);
  const auto disturb = [&](std::vector<double> values) {
    for (double& value : values) value *= disturbed(random) ? 1.5 : 1;
    return values;
  };
  constexpr unsigned kRuns = 60;
  constexpr double kNoise = 0.015;
  unsigned held = 0, found = 0;
  for (unsigned i = 0; i < kGates; ++i) {
    const auto judge = [&](double growth) {
      return judge_growth(paired_growth(disturb(runs(random, kRuns, 0, kNoise)),
                                        disturb(runs(random, kRuns, growth, kNoise))),
                          kLimit, kAlarm)
          .verdict;
    };
    if (judge(0) == Verdict::kHeld) ++held;
    if (judge(kLimit) == Verdict::kBroken) ++found;
  }
  EXPECT_GE(held, kGates * 95 / 100);
  EXPECT_GE(found, kGates * 95 / 100);
}

// Nothing to grow from in most of the runs.
TEST(Judge, AFunctionThatRunsNowAndThenIsNoGrowth) {
  const std::vector<double> before{0, 0, 0, 0, 0, 0.001, 0, 0, 0, 0, 0, 0},
      now{0, 0, 0.001, 0, 0, 0, 0, 0.001, 0, 0.002, 0, 0};
  const Estimate growth = paired_growth(before, now, 0.001);
  EXPECT_TRUE(std::isfinite(growth.value) && std::isfinite(growth.error));
  EXPECT_EQ(judge_growth(growth, kLimit, kAlarm).verdict, Verdict::kUnknown);
}

TEST(Judge, ALimitMayBeAbsolute) {
  const Estimate value = mean_of(series_of({2.0, 2.02, 1.98, 2.01, 1.99}));
  EXPECT_NEAR(value.value, 2.0, 1e-9);
  EXPECT_EQ(judge_maximum(value, 2.1, kAlarm).verdict, Verdict::kHeld);
  EXPECT_EQ(judge_maximum(value, 1.9, kAlarm).verdict, Verdict::kBroken);
  EXPECT_EQ(judge_maximum(value, 2.01, kAlarm).verdict, Verdict::kUnknown);
  EXPECT_GT(judge_maximum(value, 2.01, kAlarm).runs_needed, 5u);
  EXPECT_EQ(judge_maximum(value, 2.0, kAlarm).verdict, Verdict::kUnknown);
}

TEST(Judge, OneRunSaysNothing) {
  EXPECT_EQ(judge_maximum(mean_of(series_of({1})), 2, kAlarm).verdict, Verdict::kUnknown);
  EXPECT_EQ(judge_growth(growth_of(series_of({1}), series_of({9})), kLimit, kAlarm).verdict,
            Verdict::kUnknown);
}

// scipy.stats.t.isf
TEST(StudentQuantile, IsTheInverseOfTheTail) {
  EXPECT_NEAR(profile::student_quantile(0.001, 2), 22.327, 0.001);
  EXPECT_NEAR(profile::student_quantile(0.01, 9), 2.8214, 0.0001);
  EXPECT_NEAR(profile::student_quantile(0.025, 1'000'000), 1.95996, 0.0001);
}

}  // namespace
}  // namespace sampan::reports

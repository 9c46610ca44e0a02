#include "profile/diff.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "profile/frames.h"
#include "profile/statistics.h"

namespace sampan::profile {
namespace {

using Chooser = std::function<uint32_t(std::mt19937&, size_t sample)>;

// Two sides of samples of as many functions "f0", "f1", ... as there are; one thread each.
Profile sides(size_t samples, uint32_t functions, const Chooser& a, const Chooser& b,
              unsigned seed = 1) {
  Profile profile;
  profile.sides = {"a", "b"};
  profile.processes.resize(2);
  for (uint32_t i = 0; i < functions; ++i) {
    profile.functions.push_back({.name = profile.strings.intern("f" + std::to_string(i))});
    profile.lines.push_back({.function = i});
    profile.locations.push_back({.first_line = i, .line_count = 1});
    profile.stacks.push_back({kNone, i});
  }
  std::mt19937 random(seed);
  for (uint32_t side = 0; side < 2; ++side) {
    profile.threads.emplace_back().process = side;
    profile.threads.back().side = static_cast<uint8_t>(side);
    for (size_t i = 0; i < samples; ++i) {
      profile.samples.push_back({.time_ns = SessionNs::at(1'000'000 * (i + 1)),
                                 .weight_ns = 1'000'000,
                                 .thread = side,
                                 .stack = (side == 0 ? a : b)(random, i),
                                 .wait = kNone,
                                 .complete = true});
    }
  }
  return profile;
}

// f0 with this share; the other functions as often as each other.
Chooser share(double of_first, uint32_t functions) {
  return [=](std::mt19937& random, size_t) -> uint32_t {
    if (std::bernoulli_distribution(of_first)(random)) return 0;
    return std::uniform_int_distribution<uint32_t>(1, functions - 1)(random);
  };
}

// Each function for `length` samples on average before another one comes, by chance.
Chooser bursts(double length, uint32_t functions) {
  return [=, current = 0u](std::mt19937& random, size_t) mutable -> uint32_t {
    if (std::bernoulli_distribution(1 / length)(random)) {
      current = std::uniform_int_distribution<uint32_t>(0, functions - 1)(random);
    }
    return current;
  };
}

Diff diff_of(const Profile& profile, const DiffOptions& options = {}) {
  return diff(select(profile), options);
}

TEST(Diff, FindsWhatChanged) {
  const Profile profile = sides(40'000, 5, share(0.30, 5), share(0.33, 5));
  const Diff found = diff_of(profile);
  ASSERT_GE(found.beyond_noise, 1u);
  const Change& first = found.changes[0];
  EXPECT_EQ(function_name(profile, first.function), "f0");
  EXPECT_LE(first.change - first.margin, 0.03);
  EXPECT_GE(first.change + first.margin, 0.03);
  EXPECT_GT(first.change - first.margin, 0);
  EXPECT_NEAR(first.share[0], 0.30, 0.01);
  EXPECT_EQ(found.total[1].samples, 40'000u);
}

TEST(Diff, FindsNothingInEqualRuns) {
  unsigned ranked = 0;
  for (unsigned seed = 1; seed <= 100; ++seed) {
    ranked += diff_of(sides(2'000, 20, share(0.3, 20), share(0.3, 20), seed)).beyond_noise != 0;
  }
  EXPECT_LE(ranked, 2u) << "of 100 pairs, at 99 % confidence";
}

// Were samples taken for independent ones, half of these pairs would have a change.
TEST(Diff, BurstsAreNoChange) {
  unsigned ranked = 0;
  for (unsigned seed = 1; seed <= 100; ++seed) {
    ranked += diff_of(sides(8'000, 5, bursts(20, 5), bursts(20, 5), seed)).beyond_noise != 0;
  }
  EXPECT_LE(ranked, 3u) << "of 100 pairs, at 99 % confidence";
}

TEST(Diff, WhatEveryRunDoesInTurnIsLittleNoise) {
  const auto first_then_second = [](double until) {
    return [=](std::mt19937&, size_t i) -> uint32_t { return static_cast<double>(i) < until; };
  };
  const Diff found = diff_of(sides(10'000, 2, first_then_second(5'000), first_then_second(8'000)));
  EXPECT_EQ(found.beyond_noise, 2u);
}

TEST(Diff, FunctionsOfFewSamplesAreCountedApart) {
  const Chooser rare = [](std::mt19937&, size_t i) -> uint32_t { return i % 250 == 0; };
  const Diff found = diff_of(sides(1'000, 2, rare, rare));
  EXPECT_EQ(found.too_few, 1u);
  EXPECT_EQ(found.changes.size(), 1u);
}

TEST(Diff, ASideWithoutSamplesIsSaid) {
  Profile profile = sides(10, 2, share(0.5, 2), share(0.5, 2));
  profile.samples.resize(10);
  EXPECT_THROW(diff_of(profile), Error);
}

TEST(Diff, TimeAndSamplesAreTwoMeasures) {
  Profile profile = sides(1'000, 2, share(0.5, 2), share(0.5, 2));
  for (Sample& sample : profile.samples) sample.weight_ns = sample.stack == 0 ? 3'000 : 1'000;
  const Diff time = diff_of(profile), samples = diff_of(profile, {.by = DiffOptions::By::kSamples});
  const auto share_of_f0 = [](const Diff& diff) {
    return diff.changes[0].function == 0 ? diff.changes[0].share[0] : diff.changes[1].share[0];
  };
  EXPECT_NEAR(share_of_f0(time), 0.75, 0.03);
  EXPECT_NEAR(share_of_f0(samples), 0.5, 0.05);
}

TEST(ShareNoise, OfIndependentSamplesIsBinomial) {
  std::mt19937 random(7);
  const std::vector<double> weights(20'000, 1.0);
  const ShareNoise noise(weights);
  ShareNoise::Part part{.by_block = std::vector<double>(noise.blocks())};
  for (size_t i = 0; i < weights.size(); ++i) {
    if (!std::bernoulli_distribution(0.2)(random)) continue;
    part.weight += 1;
    part.squares += 1;
    part.by_block[noise.block_of(i)] += 1;
  }
  const double binomial = 0.2 * 0.8 / 20'000;
  EXPECT_GE(noise.variance(part), 0.95 * binomial);
  EXPECT_LE(noise.variance(part), 2 * binomial);
}

TEST(ShareNoise, QuantilesAreTheNormalOnes) {
  EXPECT_NEAR(two_sided_quantile(0.05), 1.959964, 1e-5);
  EXPECT_NEAR(two_sided_quantile(0.01), 2.575829, 1e-5);
  EXPECT_NEAR(two_sided_quantile(1e-6), 4.891638, 1e-5);
}

}  // namespace
}  // namespace sampan::profile

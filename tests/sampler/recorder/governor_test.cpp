#include "sampler/recorder/governor.h"
#include "base/units.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

namespace sampan::sampler {
namespace {

constexpr uint64_t kStep = kNsPerSecond / 4;
// The part of a limit of 1 % that can be measured; the other half is reserved for what cannot.
constexpr double kSeen = 0.005;

// A target that uses `own` CPUs, and a sampan. A sample costs `in_target_us` and `recorder_us`; at any
// rate, sampan also uses `idle` of a CPU.
struct World {
  double own = 1, in_target_us = 10, recorder_us = 5, idle = 0.0001;
  // The cost may depend on the rate, because one clock costs more than another.
  std::function<double(uint32_t)> factor = [](uint32_t) { return 1.0; };
};

class Simulation {
 public:
  Simulation(double share, uint32_t asked_hz) : Simulation(CostLimit{share}, asked_hz) {}
  Simulation(CostLimit limit, uint32_t asked_hz) : governor(limit, asked_hz) {
    governor.observe(usage);
  }

  // The share of the CPU that sampling took in so many seconds.
  double run(const World& world, unsigned duration_s) {
    const Usage before = usage;
    for (unsigned i = 0; i < 4 * duration_s; ++i) step(world);
    const Usage used = usage - before;
    return static_cast<double>(used.cost_ns()) / static_cast<double>(used.own_ns());
  }

  Governor governor;
  Usage usage{.time_ns = 100 * kNsPerSecond};
  std::vector<uint32_t> changes;

 private:
  void step(const World& world) {
    const double own_ns = world.own * kStep;
    const double samples =
        governor.rate_hz() * own_ns / kNsPerSecond * world.factor(governor.rate_hz());
    const auto in_target = static_cast<uint64_t>(samples * world.in_target_us * 1000);
    usage.time_ns += kStep;
    usage.in_target_ns += in_target;
    usage.target_ns += static_cast<uint64_t>(own_ns) + in_target;
    usage.recorder_ns +=
        static_cast<uint64_t>(samples * world.recorder_us * 1000 + world.idle * kStep);
    if (governor.observe(usage)) changes.push_back(governor.rate_hz());
  }
};

TEST(Governor, FindsTheRateThatThereIsRoomFor) {
  Simulation simulation(0.01, 4000);
  EXPECT_EQ(simulation.governor.rate_hz(), Governor::kFirstHz) << "before anything is known";
  simulation.run({}, 5);
  // A sample costs 15 us, and as much again unseen: 1 % is 333 Hz. The governor aims at four fifths.
  EXPECT_GT(simulation.governor.rate_hz(), 0.6 * 333);
  EXPECT_LE(simulation.governor.rate_hz(), 333u);
  const double share = simulation.run({}, 60);
  EXPECT_LE(share, kSeen);
  EXPECT_GE(share, kSeen / 2);
  EXPECT_FALSE(simulation.governor.floor_costs_more());
}

TEST(Governor, HoldsTheLimitFromTheBeginningOn) {
  Simulation simulation(0.01, 10'000);
  EXPECT_LE(simulation.run({}, 20), kSeen);
}

TEST(Governor, GivesWhatWasAskedForWhereItCostsLess) {
  Simulation simulation(0.01, 250);
  simulation.run({.in_target_us = 4, .recorder_us = 2}, 5);
  EXPECT_EQ(simulation.governor.rate_hz(), 250u);
  simulation.changes.clear();
  simulation.run({.in_target_us = 4, .recorder_us = 2}, 60);
  EXPECT_TRUE(simulation.changes.empty());
}

TEST(Governor, NeverExceedsWhatWasAskedForNorGoesBelowTheFloor) {
  Simulation cheap(0.5, 300), dear(0.0001, 4000), slow(0.0001, 3);
  cheap.run({}, 30), dear.run({}, 30), slow.run({}, 30);
  EXPECT_LE(*std::max_element(cheap.changes.begin(), cheap.changes.end()), 300u);
  EXPECT_EQ(cheap.governor.rate_hz(), 300u);
  EXPECT_EQ(dear.governor.rate_hz(), Governor::kFloorHz);
  EXPECT_EQ(slow.governor.rate_hz(), 3u);
}

TEST(Governor, LowersWhenSamplesGetDearerAndRisesAgain) {
  Simulation simulation(0.01, 4000);
  simulation.run({}, 10);
  const uint32_t before = simulation.governor.rate_hz();
  simulation.run({.in_target_us = 40, .recorder_us = 20}, 3);  // deeper stacks
  EXPECT_LT(simulation.governor.rate_hz(), 0.4 * before);
  EXPECT_LE(simulation.run({.in_target_us = 40, .recorder_us = 20}, 20), kSeen);
  simulation.run({}, 120);
  EXPECT_GE(simulation.governor.rate_hz(), 0.7 * before);
}

// A more expensive clock begins between two rates, as the perf clock does at the kernel's tick. Then no
// rate is both cheap enough and near the limit.
TEST(Governor, DoesNotOscillateAtAStep) {
  World world;
  world.factor = [](uint32_t rate) { return rate > 250 ? 8.0 : 1.0; };
  Simulation simulation(0.01, 4000);
  simulation.run(world, 60);
  simulation.changes.clear();
  EXPECT_LE(simulation.run(world, 600), kSeen);
  EXPECT_LE(simulation.changes.size(), 20u) << "in ten minutes";
}

// Most of the cost does not depend on the rate, and one second costs four times as much as another.
TEST(Governor, NoiseDoesNotMoveItToAndFro) {
  Simulation simulation(0.01, 4000);
  unsigned second = 0;
  const auto noisy = [&second] {
    return World{.in_target_us = 8, .recorder_us = 4, .idle = ++second % 3 == 0 ? 0.006 : 0.0015};
  };
  for (int i = 0; i < 30; ++i) simulation.run(noisy(), 1);
  simulation.changes.clear();
  for (int i = 0; i < 120; ++i) simulation.run(noisy(), 1);
  EXPECT_LE(simulation.changes.size(), 12u) << "in two minutes";
}

TEST(Governor, StaysWhereNothingChanges) {
  Simulation simulation(0.01, 4000);
  simulation.run({}, 20);
  simulation.changes.clear();
  simulation.run({}, 600);
  EXPECT_LE(simulation.changes.size(), 1u);
}

TEST(Governor, SaysWhenEvenTheFloorCostsMore) {
  World idler{.own = 0.01, .idle = 0.001};  // a tenth of what it uses
  Simulation simulation(0.01, 4000);
  simulation.run(idler, 120);
  EXPECT_EQ(simulation.governor.rate_hz(), Governor::kFloorHz);
  EXPECT_TRUE(simulation.governor.floor_costs_more());
  EXPECT_GT(simulation.governor.latest_share(), 0.05);
  simulation.run({}, 60);
  EXPECT_FALSE(simulation.governor.floor_costs_more());
  EXPECT_GT(simulation.governor.rate_hz(), 200u);
}

TEST(Governor, DoesNotJudgeByNothing) {
  Simulation simulation(0.01, 4000);
  World sleeper{.own = 0, .idle = 0};
  simulation.run(sleeper, 8);
  EXPECT_EQ(simulation.governor.rate_hz(), Governor::kFirstHz);
}

TEST(Governor, FollowsWhatThePersonAsksFor) {
  Simulation simulation(0.01, 4000);
  simulation.run({}, 20);
  const uint32_t before = simulation.governor.rate_hz();
  simulation.governor.ask(50);
  EXPECT_EQ(simulation.governor.rate_hz(), 50u);
  simulation.run({}, 20);
  EXPECT_EQ(simulation.governor.rate_hz(), 50u);
  simulation.governor.ask(4000);
  simulation.run({}, 60);
  EXPECT_GE(simulation.governor.rate_hz(), 0.7 * before);
}

TEST(CostCeiling, DoesNotTouchARateThatCostsLess) {
  Simulation simulation(kCostCeiling, 4000);
  EXPECT_EQ(simulation.governor.rate_hz(), 4000u) << "before anything is known";
  // 8 % in the target; what sampan uses itself does not count.
  simulation.run({.in_target_us = 20, .recorder_us = 100}, 60);
  EXPECT_TRUE(simulation.changes.empty());
  simulation.governor.ask(2000);
  simulation.governor.ask(3000);
  EXPECT_EQ(simulation.governor.rate_hz(), 3000u);
}

TEST(CostCeiling, LowersARateThatCostsMore) {
  Simulation simulation(kCostCeiling, 4000);
  simulation.run({.in_target_us = 100}, 2);  // 40 %
  EXPECT_LE(simulation.governor.rate_hz(), 1000u);
  simulation.run({.in_target_us = 100}, 60);
  EXPECT_GE(simulation.governor.rate_hz(), 600u);
}

// Samples take all of the target's CPU: it hardly gets on, and is helped all the same.
TEST(CostCeiling, EndsALivelock) {
  Governor governor(kCostCeiling, 4000);
  Usage usage{.time_ns = 100 * kNsPerSecond};
  governor.observe(usage);
  for (int i = 0; i < 2; ++i) {
    usage.time_ns += kStep, usage.target_ns += kStep, usage.in_target_ns += kStep;
    EXPECT_TRUE(governor.observe(usage));
  }
  EXPECT_EQ(governor.rate_hz(), 250u);
}

}  // namespace
}  // namespace sampan::sampler

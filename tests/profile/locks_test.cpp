// Waits for locks from draws, beside truth that is known.
#include "profile/locks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/error.h"
#include "profile/load.h"

namespace sampan::profile {
namespace {

constexpr uint64_t kLimitNs = 10'000;

// Frames 0 to 3 are functions, 4 is a variable.
recording::Recording made_up() {
  recording::Recording rows;
  rows.session.program = "app";
  rows.processes = {{.pid = 1, .start_ns = 0, .name = "/bin/app"}};
  rows.threads = {{.process = 0, .tid = 1, .start_ns = 0, .name = "main"},
                  {.process = 0, .tid = 2, .start_ns = 0, .name = "worker"}};
  rows.modules = {{"/bin/app", {}, 0, 0x9000}};
  for (uint32_t i = 0; i < 5; ++i) rows.frames.push_back({0, 0x1000 + 16 * i});
  for (uint32_t i = 0; i < 4; ++i) rows.stacks.push_back({i == 0 ? kNone : 0, i});
  rows.locks = {{0, 0x7000, 4, kNone, wire::LockKind::kMutex},
                {0, 0x7100, kNone, 3, wire::LockKind::kWriteLock},
                {0, 0x7200, kNone, 3, wire::LockKind::kWriteLock}};
  rows.watch_changes = {{0, 0, Watched::kLocks, kLimitNs}};
  return rows;
}

recording::LockWait wait_of(uint32_t lock, uint64_t duration_ns, uint32_t stack = 1) {
  recording::LockWait row;
  row.thread = 1;
  row.stack = stack;
  row.begin_ns = 100;
  row.duration_ns = duration_ns;
  row.limit_ns = kLimitNs;
  row.lock = lock;
  return row;
}

Profile shown(recording::Recording rows) {
  Profile profile = load(std::move(rows));
  const char* const names[] = {"main", "take", "hold", "make", "queue_lock"};
  for (size_t i = 0; i < std::size(names); ++i) {
    profile.locations[i].first_line = static_cast<uint32_t>(profile.lines.size());
    profile.locations[i].line_count = 1;
    profile.lines.push_back({.function = static_cast<uint32_t>(profile.functions.size())});
    profile.functions.push_back({.name = profile.strings.intern(names[i])});
  }
  show_locks(&profile);
  return profile;
}

// Short waits are drawn in proportion to their time: sums are the truth within what the draws allow.
TEST(Locks, SumsAreTheTruthWithinTheirError) {
  recording::Recording rows = made_up();
  std::mt19937 random(1);
  std::exponential_distribution<> durations(1.0 / 4000);
  double truth_ns = 0, truth = 0;
  for (int i = 0; i < 100'000; ++i) {
    const auto ns = static_cast<uint64_t>(durations(random)) + 1;
    truth_ns += static_cast<double>(ns);
    ++truth;
    if (ns < kLimitNs && random() % kLimitNs >= ns) continue;
    rows.lock_waits.push_back(wait_of(0, ns));
  }
  const Profile profile = shown(rows);
  const LockSum sum = lock_total(select(profile));
  EXPECT_NEAR(sum.waited_ns, truth_ns, 5 * std::sqrt(sum.waited_variance));
  EXPECT_LT(std::sqrt(sum.waited_variance), 0.01 * truth_ns);
  EXPECT_NEAR(sum.waits, truth, 0.05 * truth);
  EXPECT_NEAR(static_cast<double>(total_weight(select(profile)).ns), sum.waited_ns, 1);
}

TEST(Locks, AreNamedByTheirVariableOrWhoMadeThem) {
  recording::Recording rows = made_up();
  rows.lock_waits = {wait_of(0, 30'000), wait_of(1, 20'000), wait_of(2, 15'000)};
  const Profile profile = shown(rows);
  EXPECT_EQ(lock_name(profile, 0), "queue_lock");
  EXPECT_EQ(lock_name(profile, 1), "0x7100 of make");
  const std::vector<LockRow> table = lock_table(select(profile));
  ASSERT_EQ(table.size(), 2u);
  EXPECT_EQ(table[0].locks, 2u);  // both that make() made
  EXPECT_DOUBLE_EQ(table[0].sum.waited_ns, 35'000);
  EXPECT_EQ(table[1].lock, 0u);
  EXPECT_EQ(table[1].sum.longest_ns, 30'000u);
  const Sample& sample = profile.samples[2];
  EXPECT_EQ(wait_name(profile.waits[sample.wait]), "[mutex queue_lock]");
  EXPECT_EQ(profile.locations[profile.stacks[sample.stack].location].wait, sample.wait);
  EXPECT_EQ(sample.time_ns, 30'100u);
  EXPECT_TRUE(select(profile).is_of_wall_time());
}

TEST(Locks, SayWhoHeldThemAndWhoEndedTheWait) {
  recording::Recording rows = made_up();
  for (int i = 0; i < 3; ++i) {
    recording::LockWait row = wait_of(0, 30'000);
    row.holder = row.waker = 0;
    row.holder_stack = 2;
    row.waker_stack = i == 0 ? 3 : 2;
    rows.lock_waits.push_back(row);
  }
  rows.lock_waits.push_back(wait_of(0, 50'000));  // nobody knows
  const Profile profile = shown(rows);
  const auto name = [&](uint32_t function) {
    return profile.strings[profile.functions[function].name];
  };
  const std::vector<BlockedBy> held = blocked_by(select(profile));
  ASSERT_EQ(held.size(), 2u);
  EXPECT_EQ(name(held[0].waiter), "take");
  EXPECT_EQ(name(held[0].holder), "hold");
  EXPECT_DOUBLE_EQ(held[0].sum.waited_ns, 90'000);
  EXPECT_EQ(held[1].holder, kNone);
  const std::vector<BlockedBy> woken = woken_by(select(profile));
  ASSERT_EQ(woken.size(), 3u);
  EXPECT_EQ(name(woken[0].holder), "hold");
  EXPECT_DOUBLE_EQ(woken[0].sum.waited_ns, 60'000);
}

TEST(Locks, NothingRecordedIsSaid) {
  Profile profile;
  EXPECT_THROW(show_locks(&profile), Error);
}

}  // namespace
}  // namespace sampan::profile

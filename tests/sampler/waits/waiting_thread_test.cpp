// The accounting of a thread's time, fed with made-up schedstat readings: where its waiting goes,
// and that nothing of it is lost.
#include "sampler/waits/waiting_thread.h"
#include "base/units.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <random>

namespace sampan::sampler {
namespace {

class WaitingThreadTest : public testing::Test {
 protected:
  static std::optional<WaitPlace> in(uint32_t wait) { return WaitPlace{wait, 0, {}}; }
  static RunTimes times(uint64_t cpu_ms, uint64_t queued_ms, uint64_t turns) {
    return {CpuNs::at(cpu_ms * kNsPerMs), queued_ms * kNsPerMs, turns};
  }
  static MonotonicNs at(uint64_t ms) { return MonotonicNs::at(ms * kNsPerMs); }
  // The file is not read here.
  WaitingThread thread_{SchedstatFile(getpid(), getpid()), 100 * kNsPerMs, times(5, 5, 1)};
};

TEST_F(WaitingThreadTest, GathersAWaitUntilTheThreadHasMoved) {
  thread_.moved(110 * kNsPerMs, times(5, 5, 1), in(1));
  for (uint64_t ms = 120; ms <= 150; ms += 10) {
    EXPECT_FALSE(thread_.has_moved(times(5, 5, 1)));
    thread_.stayed(at(ms));
  }
  EXPECT_TRUE(thread_.has_moved(times(5, 5, 2)));
  // 4 ms of CPU, then another wait: each wait gets half of the other 6 ms.
  const Waited waited = thread_.moved(160 * kNsPerMs, times(9, 5, 2), in(2));
  EXPECT_EQ(waited.weight_ns, 53 * kNsPerMs);
  EXPECT_EQ(waited.time_ns, 153 * kNsPerMs);
  EXPECT_EQ(thread_.ended(170 * kNsPerMs, times(9, 5, 2)).weight_ns, 13 * kNsPerMs);
}

TEST_F(WaitingThreadTest, GivesAllToTheWaitThatItMetWhenTheThreadRunsNow) {
  thread_.moved(100 * kNsPerMs, times(5, 5, 1), in(1));
  EXPECT_EQ(thread_.moved(110 * kNsPerMs, times(7, 6, 2), {}).weight_ns, 7 * kNsPerMs);
  EXPECT_EQ(thread_.place(), std::nullopt);
  EXPECT_EQ(thread_.last_place()->wait, 1u);
}

TEST_F(WaitingThreadTest, KeepsWhatPassedBetweenTwoTurnsForTheNextWait) {
  for (uint64_t i = 1; i <= 5; ++i) {
    EXPECT_EQ(thread_.moved(at(100 + 10 * i), times(5 + 6 * i, 5, 1 + i), {}).weight_ns, 0u);
  }
  thread_.moved(160 * kNsPerMs, times(41, 5, 7), in(3));
  EXPECT_EQ(thread_.take().weight_ns, 24 * kNsPerMs);
}

TEST_F(WaitingThreadTest, BearsCpuThatIsAccountedLate) {
  thread_.moved(104 * kNsPerMs, times(5, 5, 1), {});  // runs; the kernel says nothing yet
  thread_.moved(108 * kNsPerMs, times(13, 5, 1), in(1));
  EXPECT_EQ(thread_.take().weight_ns, 0u);
  thread_.stayed(118 * kNsPerMs);
  EXPECT_EQ(thread_.take().weight_ns, 10 * kNsPerMs);
}

TEST_F(WaitingThreadTest, LooksLessAndLessOftenAtAnIdleThread) {
  thread_.moved(100 * kNsPerMs, times(5, 5, 1), in(1));
  size_t looks = 0;
  for (uint64_t ms = 100; ms < 10'100; ++ms) {
    if (!thread_.is_due(at(ms))) continue;
    thread_.stayed(at(ms));
    ++looks;
  }
  EXPECT_LT(looks, 80u);  // 4 a second, and some in the beginning
  EXPECT_GT(looks, 36u);
  EXPECT_GT(thread_.take().weight_ns, 9'650 * kNsPerMs);
}

TEST_F(WaitingThreadTest, GathersTimeInTheQueueForACpu) {
  thread_.moved(110 * kNsPerMs, times(5, 8, 2), {});
  EXPECT_EQ(thread_.take_runnable(5 * kNsPerMs), 0u);
  thread_.moved(120 * kNsPerMs, times(5, 10, 3), {});
  EXPECT_EQ(thread_.take_runnable(5 * kNsPerMs), 5 * kNsPerMs);
  EXPECT_EQ(thread_.take_runnable(1), 0u);
}

// The thread was seen asleep at 130 ms. At 140 ms the kernel says that it was in the queue for 30 ms.
TEST_F(WaitingThreadTest, ASleepIsNoTimeInTheQueueWhateverTheKernelSays) {
  thread_.moved(110 * kNsPerMs, times(5, 5, 1), in(1));
  thread_.stayed(120 * kNsPerMs);
  thread_.stayed(130 * kNsPerMs);
  EXPECT_EQ(thread_.moved(140 * kNsPerMs, times(6, 35, 2), {}).weight_ns, 29 * kNsPerMs);
  EXPECT_EQ(thread_.take_runnable(1), 10 * kNsPerMs);
}

TEST_F(WaitingThreadTest, CountsAStayInTheQueueThatManyLooksMet) {
  thread_.moved(110 * kNsPerMs, times(5, 5, 1), in(1));
  for (uint64_t ms = 120; ms <= 150; ms += 10) thread_.moved(at(ms), times(5, 5, 1), {});
  thread_.moved(160 * kNsPerMs, times(5, 53, 2), {});  // it was in the queue at 160 ms once more
  EXPECT_EQ(thread_.take_runnable(1), 48 * kNsPerMs);
  thread_.moved(170 * kNsPerMs, times(5, 53, 2), {});
  thread_.moved(180 * kNsPerMs, times(5, 75, 3), {});
  EXPECT_EQ(thread_.take_runnable(1), 22 * kNsPerMs);
}

TEST_F(WaitingThreadTest, OneThatIsGoneHadWaitedOn) {
  thread_.moved(110 * kNsPerMs, times(5, 5, 1), in(1));
  thread_.take();
  EXPECT_EQ(thread_.ended(130 * kNsPerMs, {}).weight_ns, 20 * kNsPerMs);
}

TEST_F(WaitingThreadTest, LosesNothingOfARandomLife) {
  std::mt19937_64 random(1);
  MonotonicNs now = 100 * kNsPerMs;
  uint64_t written = 0, queued = 0;
  RunTimes latest = times(5, 5, 1);
  const RunTimes begin = latest;
  for (int i = 0; i < 10'000; ++i) {
    const uint64_t passed = 1 + random() % (20 * kNsPerMs);
    now += passed;
    if (random() % 3 == 0 && thread_.place()) {
      thread_.stayed(now);
      continue;
    }
    latest.cpu_ns += random() % passed / 2;
    latest.queued_ns += random() % passed / 2;
    ++latest.turns;
    written +=
        thread_
            .moved(now, latest,
                   random() % 2 == 0 ? in(static_cast<uint32_t>(random() % 3)) : std::nullopt)
            .weight_ns;
    queued += thread_.take_runnable(5 * kNsPerMs);
  }
  written += thread_.ended(now, latest).weight_ns;
  queued += thread_.take_runnable(1);
  EXPECT_EQ(queued, latest.queued_ns - begin.queued_ns);
  EXPECT_EQ(written, now - 100 * kNsPerMs - queued - (latest.cpu_ns - begin.cpu_ns));
}

}  // namespace
}  // namespace sampan::sampler

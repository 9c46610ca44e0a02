#include "preload/support/spin_lock.h"

#include <gtest/gtest.h>

namespace sampan::preload {
namespace {

TEST(SharedTask, RunsAgainWhenItIsRequestedWhileItRuns) {
  SharedTask task;
  int runs = 0;
  // As another thread would, between this run's last look and the unlock.
  task.request([&] {
    if (++runs == 1) task.request([&] { ++runs; });
  });
  EXPECT_EQ(runs, 2);
}

TEST(SharedTask, RunsAfterTheLockWhenItIsRequestedMeanwhile) {
  SharedTask task;
  int runs = 0;
  const auto run = [&] { ++runs; };
  ASSERT_TRUE(task.lock_for(1));
  task.request(run);
  EXPECT_EQ(runs, 0);
  task.unlock();
  task.run_if_requested(run);
  EXPECT_EQ(runs, 1);
  task.run_if_requested(run);
  EXPECT_EQ(runs, 1);
}

}  // namespace
}  // namespace sampan::preload

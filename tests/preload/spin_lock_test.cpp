#include "preload/support/spin_lock.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/time.h>

#include <atomic>

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

SharedTask interrupted_task;
std::atomic<uint64_t> requests, seen, signals;

void request() {
  ++requests;
  interrupted_task.request([] { seen = requests.load(); });
}

// A signal may come at any instruction, also between the last look for requests and the unlock.
TEST(SharedTask, RunsForEveryRequestWhereverItIsInterrupted) {
  struct sigaction action {
  }, before{};
  action.sa_handler = [](int) {
    ++signals;
    request();
  };
  sigaction(SIGALRM, &action, &before);
  const itimerval often{{0, 50}, {0, 50}};
  setitimer(ITIMER_REAL, &often, nullptr);
  uint64_t missed = 0;
  while (signals < 5000) {
    request();
    const uint64_t requested = requests;
    missed += seen < requested;
  }
  constexpr itimerval kNever{};
  setitimer(ITIMER_REAL, &kNever, nullptr);
  sigaction(SIGALRM, &before, nullptr);
  EXPECT_EQ(missed, 0u);
}

}  // namespace
}  // namespace sampan::preload

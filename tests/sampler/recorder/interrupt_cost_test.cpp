#include "sampler/recorder/interrupt_cost.h"

#include <gtest/gtest.h>
#include <signal.h>

#include "sampler/taken_cpu.h"

namespace sampan::sampler {
namespace {

TEST(SignalCost, IsThatOfASignal) {
  const SignalCost cost = measure_signal_cost(Interrupts::kOfPerf);
  // More than reading a clock, and less than a tick.
  EXPECT_GT(cost.timer_ns, 100u);
  EXPECT_LT(cost.timer_ns, 4'000'000u);
  if (cost.perf_ns == 0) GTEST_SKIP() << "the kernel refuses perf_event_open";
  EXPECT_GT(cost.perf_ns, 500u);
  EXPECT_LE(cost.perf_ns, 100'000u);  // however busy the machine is
}

TEST(SignalCost, IsThatOfASignalWhileOthersTakeTheCpu) {
  const TakenCpu taken;
  for (int i = 0; i < 5; ++i) {
    const SignalCost cost = measure_signal_cost(Interrupts::kOfPerf);
    EXPECT_LT(cost.timer_ns, 1'000'000u) << "a turn of another process takes more";
    EXPECT_LE(cost.perf_ns, 100'000u);
  }
}

TEST(SignalCost, LeavesTheSignalAsItWas) {
  struct sigaction before {
  }, after{};
  sigset_t mask_before, mask_after;
  signal(SIGPROF, SIG_IGN);
  sigaction(SIGPROF, nullptr, &before);
  pthread_sigmask(SIG_SETMASK, nullptr, &mask_before);
  measure_signal_cost(Interrupts::kOfPerf);
  sigaction(SIGPROF, nullptr, &after);
  pthread_sigmask(SIG_SETMASK, nullptr, &mask_after);
  EXPECT_EQ(after.sa_handler, before.sa_handler);
  EXPECT_EQ(sigismember(&mask_after, SIGPROF), sigismember(&mask_before, SIGPROF));
  raise(SIGPROF);  // would end the test
  signal(SIGPROF, SIG_DFL);
}

TEST(Gaps, TheMedianIsOfTheLongest) {
  EXPECT_EQ(median_of_longest({90, 50, 40, 3, 2, 1}, 3), 50u);
  EXPECT_EQ(median_of_longest({90}, 5), 90u);
  EXPECT_EQ(median_of_longest({}, 5), 0u);
  EXPECT_EQ(median_of_longest({5, 4}, 0), 0u);
}

}  // namespace
}  // namespace sampan::sampler

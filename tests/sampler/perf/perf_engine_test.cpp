#include "sampler/perf/perf_engine.h"

#include <gtest/gtest.h>

#include "sampler/taken_cpu.h"

namespace sampan::sampler {
namespace {

uint64_t measured() {
  try {
    return measure_sample();
  } catch (const Refused&) {
    return 0;
  }
}

TEST(PerfEngine, ASampleCostsTheSameWhileOthersTakeTheCpu) {
  const uint64_t alone_ns = measured();
  if (alone_ns == 0) GTEST_SKIP() << "the kernel refuses perf_event_open";
  EXPECT_GT(alone_ns, 500u);  // more than the clock
  EXPECT_LT(alone_ns, 100'000u);
  const TakenCpu taken;
  for (int i = 0; i < 10; ++i)
    EXPECT_LT(measure_sample(), 100'000u) << "a turn of another process takes more";
}

}  // namespace
}  // namespace sampan::sampler

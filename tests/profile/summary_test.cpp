#include "profile/summary.h"

#include <gtest/gtest.h>

#include "support/text_profile.h"

namespace sampan::profile {
namespace {

TEST(Summary, TheRateCountsWhatIsBehindTheLastSample) {
  Profile profile = test::profile_of("f 10\n# thread 101 short\ng 1\n");  // 4 ms each
  EXPECT_DOUBLE_EQ(summarize(select(profile)).achieved_rate_hz(), 250);
  // A short thread has its sample early, and ends before the next.
  profile.samples.back().weight_ns = 1'000'000;
  profile.threads[0].cpu_ns = 40'000'000;
  profile.threads[1].cpu_ns = 4'000'000;
  EXPECT_DOUBLE_EQ(summarize(select(profile)).achieved_rate_hz(), 250);
}

}  // namespace
}  // namespace sampan::profile

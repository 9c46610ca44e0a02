#include "sampler/recorder/rate_control.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/error.h"
#include "support/scratch_directory.h"

namespace sampan::sampler {
namespace {

class RateControlTest : public testing::Test {
 protected:
  test::ScratchDirectory directory_;
  recording::Writer writer_{directory_.file("a.sampan"), recording::Session{}};
  RateControl rates_{writer_, {monotonic_ns()}, {.asked_hz = 250}};
};

TEST_F(RateControlTest, SaysTheRateThatIsAskedFor) {
  rates_.ask(1000);
  EXPECT_EQ(rates_.rate_hz(), 1000u);
  EXPECT_EQ(rates_.status(), "sampling at 1000 Hz; the program has used hardly any CPU yet");
  EXPECT_THROW(rates_.ask(0), Error);
  EXPECT_EQ(rates_.rate_hz(), 1000u);
}

// Without a governor, the status does not mention a rate that the source refused.
TEST_F(RateControlTest, ARateThatCouldNotBeHadIsForgotten) {
  rates_.ask(1000);
  rates_.stay(250, "the kernel refuses");
  EXPECT_EQ(rates_.rate_hz(), 250u);
  EXPECT_EQ(rates_.status(), "sampling at 250 Hz; the program has used hardly any CPU yet");
}

// 99,900 % would be a true figure that says nothing.
TEST_F(RateControlTest, OfAProgramThatHardlyRunsTheCostIsNoShare) {
  rates_.observe(1000, 999);
  EXPECT_EQ(rates_.status(), "sampling at 250 Hz; the program has used hardly any CPU yet");
  rates_.observe(1'000 * kNsPerSecond, kNsPerSecond);
  EXPECT_NE(rates_.status().find("it costs "), std::string::npos);
}

}  // namespace
}  // namespace sampan::sampler

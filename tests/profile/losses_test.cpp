#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/units.h"
#include "profile/profile.h"
#include "support/text_profile.h"
#include "wire/loss.h"

namespace sampan::profile {
namespace {

std::map<std::string, uint64_t> lost_of(const Profile& profile) {
  std::map<std::string, uint64_t> result;
  for (const Lost& each : losses(profile)) result[each.key] = each.count;
  return result;
}

// One process of 40 ms, in 10 samples.
Profile short_run() {
  Profile profile = test::profile_of("f 10\n");
  profile.processes.at(0).cpu_ns = 40 * kNsPerMs;
  profile.end = SessionEnd{};
  profile.end->user_cpu_ns = 40 * kNsPerMs;
  return profile;
}

TEST(Losses, NothingIsLostOfWhatIsSampled) {
  EXPECT_TRUE(lost_of(short_run()).empty());
}

TEST(Losses, AProcessWithCpuAndWithoutSamples) {
  Profile profile = short_run();
  profile.processes.emplace_back().cpu_ns = 600 * kNsPerMs;
  profile.end->system_cpu_ns = 600 * kNsPerMs;
  EXPECT_EQ(lost_of(profile), (std::map<std::string, uint64_t>{{"process_unsampled", 1}}));
  profile.processes.back().cpu_ns = 20 * kNsPerMs;  // chance
  profile.end->system_cpu_ns = 20 * kNsPerMs;
  EXPECT_TRUE(lost_of(profile).empty());
}

TEST(Losses, AKnownReasonIsSaidAlone) {
  Profile profile = short_run();
  profile.processes.emplace_back().cpu_ns = 600 * kNsPerMs;
  profile.losses.assign(wire::kLossCount, 0);
  profile.losses[static_cast<size_t>(wire::Loss::kThreadSeccomp)] = 1;
  EXPECT_EQ(lost_of(profile), (std::map<std::string, uint64_t>{{"thread_seccomp", 1}}));
}

TEST(Losses, CpuThatNoProcessHas) {
  Profile profile = short_run();
  profile.end->user_cpu_ns += 550 * kNsPerMs;
  EXPECT_EQ(lost_of(profile), (std::map<std::string, uint64_t>{{"unseen_cpu_ms", 550}}));
  profile.end->user_cpu_ns = 55 * kNsPerMs;  // its loader
  EXPECT_TRUE(lost_of(profile).empty());
}

TEST(Losses, AnImportHasNoAccounts) {
  Profile profile = short_run();
  profile.session.engine = "import of a pprof file";
  profile.end->user_cpu_ns = kNsPerSecond;
  EXPECT_TRUE(lost_of(profile).empty());
}

}  // namespace
}  // namespace sampan::profile

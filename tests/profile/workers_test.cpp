#include "profile/workers.h"

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "support/text_profile.h"

namespace sampan::profile {
namespace {

// A worker that does in turn, as programs do: `solve` samples of one function, two of another one.
std::string worker(int pid, int solve, const std::string& more = "") {
  std::string text = "# process " + std::to_string(pid) + " /usr/bin/app\n# thread " +
                     std::to_string(pid) + " app\n";
  for (int i = 0; i < 150; ++i) {
    text += "main;solve " + std::to_string(solve) + "\nmain;exchange;MPI_Wait 2\n" + more;
  }
  return text;
}

TEST(Workers, TheSlowestIsNamed) {
  const Profile profile =
      test::profile_of(worker(1, 4) + worker(2, 4) + worker(3, 6) + worker(4, 4));
  const View view = select(profile);
  const Workers workers = compare_workers(view, ShareOf::kSelf);
  ASSERT_EQ(workers.workers.size(), 4u);
  EXPECT_EQ(workers.workers[2].name, "app 3");
  EXPECT_EQ(workers.workers[2].mpi_ns, 300 * test::kSamplePeriod);
  ASSERT_EQ(workers.beyond_noise, 1u);
  const WorkerRow& row = workers.rows[0];
  EXPECT_EQ(function_name(profile, row.function), "solve");
  EXPECT_EQ(row.most, 2u);
  EXPECT_NEAR(row.mean_ns, 675e0 * test::kSamplePeriod, 1);
  EXPECT_NEAR(row.excess_ns(), 225e0 * test::kSamplePeriod, 1);
  EXPECT_NEAR(row.deviation_ns, 150e0 * test::kSamplePeriod, 1);
  EXPECT_NEAR(row.imbalance(), 4.0 / 3, 1e-9);
  // 3/4 of its time, where the mean is (3 * 2/3 + 3/4) / 4; and the same for the rest.
  EXPECT_NEAR(workers.workers[2].distance, 0.75 - (2 + 0.75) / 4, 1e-9);
  EXPECT_EQ(function_name(profile, workers.workers[2].differs_by[0]), "solve");
}

TEST(Workers, WithTheirCalleesFunctionsHaveMore) {
  const Profile profile = test::profile_of(worker(1, 4) + worker(2, 8));
  const Workers workers = compare_workers(select(profile), ShareOf::kTotal);
  ASSERT_GE(workers.beyond_noise, 2u);
  EXPECT_EQ(function_name(profile, workers.rows[0].function), "main");
}

TEST(Workers, EqualOnesAreWithinNoise) {
  const Profile profile =
      test::profile_of(worker(1, 4) + worker(2, 4) + worker(3, 4, "main;rare 1\n"));
  const Workers equal =
      compare_workers(select(profile, {.process = {}, .from_s = 0, .to_s = 1}), ShareOf::kSelf);
  for (const WorkerRow& row : equal.rows) {
    EXPECT_EQ(row.beyond_noise, function_name(profile, row.function) == "rare") << row.function;
  }
}

TEST(Workers, RecordingsOfAMergedOneAreWorkers) {
  Profile profile = test::profile_of(worker(1, 4) + worker(2, 4) + worker(3, 6));
  profile.origins.resize(2);
  profile.origins[0].label = "rank-0";
  profile.origins[1].label = "rank-1";
  profile.processes[0].origin = 0;
  profile.processes[1].origin = 0;
  profile.processes[2].origin = 1;
  const Workers workers = compare_workers(select(profile), ShareOf::kSelf);
  ASSERT_EQ(workers.workers.size(), 2u);
  EXPECT_EQ(workers.workers[1].name, "rank-1");
  EXPECT_EQ(workers.workers[0].total.samples, 1800u);
  profile.processes[1].origin = kNone;  // of a damaged recording
  EXPECT_EQ(compare_workers(select(profile), ShareOf::kSelf).workers[0].total.samples, 900u);
}

TEST(Workers, TwoAreNeeded) {
  const Profile profile = test::profile_of(worker(1, 4));
  EXPECT_THROW(compare_workers(select(profile), ShareOf::kSelf), Error);
}

}  // namespace
}  // namespace sampan::profile

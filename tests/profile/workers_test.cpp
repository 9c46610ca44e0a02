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
  EXPECT_EQ(workers.workers[2].computing_ns(), 900 * test::kSamplePeriod);
  ASSERT_EQ(workers.beyond_noise, 1u);
  const WorkerRow& row = workers.rows[0];
  EXPECT_EQ(function_name(profile, row.function), "solve");
  EXPECT_EQ(row.ns.most, 2u);
  EXPECT_NEAR(row.ns.mean, 675e0 * test::kSamplePeriod, 1);
  EXPECT_NEAR(row.ns.excess(), 225e0 * test::kSamplePeriod, 1);
  EXPECT_NEAR(row.ns.deviation, 150e0 * test::kSamplePeriod, 1);
  EXPECT_NEAR(row.ns.imbalance(), 4.0 / 3, 1e-9);
  // 3/4 of its time, where the mean is (3 * 2/3 + 3/4) / 4; and the same for the rest.
  EXPECT_NEAR(workers.workers[2].distance, 0.75 - (2 + 0.75) / 4, 1e-9);
  EXPECT_EQ(function_name(profile, workers.workers[2].differs_by[0].function), "solve");
  EXPECT_NEAR(workers.workers[2].differs_by[0].share - workers.workers[2].differs_by[0].mean_share,
              workers.workers[2].distance, 1e-9);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(workers.workers[i].is_outlier, i == 2) << i;
}

TEST(Workers, WaitsOutsideMpiAreNeitherComputingNorMpi) {
  const std::string text =
      worker(1, 4, "main;read;~read pipe:[7] 1\nmain;MPI_Wait;~futex 2\n") + worker(2, 4);
  const Profile profile = test::profile_of(text);
  const Workers workers = compare_workers(select(profile), ShareOf::kSelf);
  EXPECT_EQ(workers.workers[0].waiting_ns, 150 * test::kSamplePeriod);
  EXPECT_EQ(workers.workers[0].mpi_ns, 600 * test::kSamplePeriod);
  EXPECT_EQ(workers.workers[0].computing_ns(), 600 * test::kSamplePeriod);
}

TEST(Workers, SpansAndCountersAreCompared) {
  Profile profile = test::profile_of(worker(1, 4) + worker(2, 4) + worker(3, 4));
  Markers& markers = profile.markers;
  markers.texts = {"", "step", "cells", "queue"};
  for (uint32_t thread = 0; thread < 3; ++thread) {
    const uint64_t ns = 1'000'000 * (thread + 1);
    for (uint64_t begin = 0; begin < 2; ++begin) {
      markers.spans.push_back({.begin_ns = SessionNs::at(begin * 10'000'000),
                               .end_ns = SessionNs::at(begin * 10'000'000 + ns),
                               .id = begin + 1,
                               .name = 1,
                               .thread = thread,
                               .end_thread = thread});
    }
    for (const double value : {1.0, 2.0, 4.0 + thread})
      markers.counters.push_back({1, value, thread, 2});
    if (thread == 0) continue;
    for (const double value : {8.0, 4.0}) markers.counters.push_back({2, value, thread, 3});
  }
  const Workers workers = compare_workers(select(profile), ShareOf::kSelf);
  ASSERT_EQ(workers.spans.size(), 1u);
  EXPECT_EQ(workers.spans[0].ns.values, (std::vector<double>{2e6, 4e6, 6e6}));
  EXPECT_EQ(workers.spans[0].ns.most, 2u);
  EXPECT_EQ(workers.spans[0].ns.excess(), 2e6);
  ASSERT_EQ(workers.counters.size(), 2u);  // the queue differs more: one worker has none
  EXPECT_EQ(markers.texts[workers.counters[0].name], "queue");
  EXPECT_FALSE(workers.counters[0].is_total);
  EXPECT_EQ(workers.counters[0].values.values, (std::vector<double>{0, 6, 6}));
  EXPECT_TRUE(workers.counters[1].is_total);
  EXPECT_EQ(workers.counters[1].values.values, (std::vector<double>{4, 5, 6}));
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

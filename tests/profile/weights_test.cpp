#include "profile/weights.h"

#include <gtest/gtest.h>

#include "support/text_profile.h"

namespace sampan::profile {
namespace {

TEST(Weights, AddUpPerStackAndPerThread) {
  const Profile profile =
      test::profile_of("a 1\nb 2\na 4\n 1\n# thread 101 w\nb 8\n# thread 102 w\na 16\n");
  const View view = select(profile);  // 100, then 102, the busier one
  const auto rows = by_stack(view);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].weight, (Weight{21 * test::kSamplePeriod, 21}));
  EXPECT_EQ(rows[1].weight.samples, 10u);
  EXPECT_EQ(rows[2].stack, kNone);
  EXPECT_EQ(rows[2].weight.samples, 1u);

  std::vector<std::pair<int32_t, uint64_t>> by_thread;
  for (const WeightedStack& row : by_thread_and_stack(view)) {
    by_thread.emplace_back(profile.threads[row.thread].tid, row.weight.samples);
  }
  EXPECT_EQ(by_thread, (std::vector<std::pair<int32_t, uint64_t>>{
                           {100, 5}, {100, 2}, {100, 1}, {102, 16}, {101, 8}}));
  EXPECT_EQ(total_weight(view).samples, 32u);
}

TEST(Weights, OfNothingAreNothing) {
  const Profile profile = test::profile_of("");
  EXPECT_TRUE(by_stack(select(profile)).empty());
  EXPECT_TRUE(by_thread_and_stack(select(profile)).empty());
}

}  // namespace
}  // namespace sampan::profile

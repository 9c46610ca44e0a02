#include "profile/view.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "profile/weights.h"
#include "support/text_profile.h"

namespace sampan::profile {
namespace {

using test::profile_of;
using test::text_of;

const char* const kText =
    "# process 100 /bin/app\n"
    "# thread 100 app\n"
    "main;idle 1\n"
    "# thread 102 worker\n"
    "start;work 1\n"
    "# thread 101 worker\n"
    "start;work 3\n"
    "# process 300 /bin/sh\n"
    "# thread 300 sh\n"
    "main;wait 2\n";

std::string text(const Selection& selection) {
  static const Profile profile = profile_of(kText);
  return text_of(select(profile, selection));
}

std::string message(const Selection& selection) {
  try {
    text(selection);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(Select, TakesAllWithTheMainThreadAndTheBusiestFirst) {
  EXPECT_EQ(text({}),
            "# thread 100 app\nmain;idle 1\n"
            "# thread 101 worker\nstart;work 3\n"
            "# thread 102 worker\nstart;work 1\n"
            "# thread 300 sh\nmain;wait 2\n");
}

TEST(Select, FindsThreadsByNameAndByTid) {
  EXPECT_EQ(text({.threads = {"worker"}, .process = {}, .from_s = {}, .to_s = {}}),
            "# thread 101 worker\nstart;work 3\n# thread 102 worker\nstart;work 1\n");
  EXPECT_EQ(text({.threads = {"102", "app"}, .process = {}, .from_s = {}, .to_s = {}}),
            "# thread 100 app\nmain;idle 1\n# thread 102 worker\nstart;work 1\n");
}

TEST(Select, MergesThreadsOfOneNameInTheirProcess) {
  const Profile profile = profile_of(kText);
  const View view = select(profile, {.merge = Merge::kName});
  ASSERT_EQ(view.threads.size(), 3u);
  const std::vector<WeightedStack> rows = by_thread_and_stack(view);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(profile.threads[rows[1].thread].tid, 101);  // the busiest stands for both
  EXPECT_EQ(rows[1].weight.samples, 4u);
  EXPECT_EQ(only_thread(view, rows[1].thread).samples.size(), 4u);
}

TEST(Select, MergesPoolsByTheirNamesWithoutTheNumber) {
  const Profile profile = profile_of(
      "# process 1 /bin/app\n"
      "# thread 1 app2\nmain 1\n"
      "# thread 2 pool-1\na 1\n"
      "# thread 3 pool-22\na 3\n"
      "# thread 4 pool\nb 1\n"
      "# thread 5 7\nc 1\n");
  const View view = select(profile, {.merge = Merge::kPool});
  std::vector<std::string> names;
  for (const uint32_t thread : view.threads) names.push_back(view.thread_name(thread));
  EXPECT_EQ(names, (std::vector<std::string>{"app", "pool", "7"}));
  const std::vector<WeightedStack> rows = by_thread_and_stack(view);
  ASSERT_EQ(rows.size(), 4u);  // app: main; pool: a, b; 7: c
  EXPECT_EQ(rows[1].weight.samples, 4u);
}

TEST(Select, CutsToAProcess) {
  EXPECT_EQ(text({.threads = {}, .process = 300, .from_s = {}, .to_s = {}}),
            "# thread 300 sh\nmain;wait 2\n");
  EXPECT_EQ(text({.threads = {"worker"}, .process = 300, .from_s = {}, .to_s = {}}), "");
}

TEST(Select, CutsToATimeAndKeepsThreadsWithoutSamples) {
  // Samples are at 4, 8 and 12 ms.
  EXPECT_EQ(text({.threads = {"worker"}, .process = {}, .from_s = 0.006, .to_s = 0.009}),
            "# thread 101 worker\nstart;work 1\n# thread 102 worker\n");
  EXPECT_EQ(text({.threads = {"worker"}, .process = {}, .from_s = 0.008, .to_s = {}}),
            "# thread 101 worker\nstart;work 2\n# thread 102 worker\n");
}

TEST(Select, SaysWhichThreadOrProcessIsMeant) {
  EXPECT_EQ(message({.threads = {"wroker"}, .process = {}, .from_s = {}, .to_s = {}}),
            "no thread is called 'wroker', did you mean 'worker'?");
  EXPECT_EQ(message({.threads = {"something"}, .process = {}, .from_s = {}, .to_s = {}}),
            "no thread is called 'something'");
  EXPECT_EQ(message({.threads = {}, .process = 301, .from_s = {}, .to_s = {}}),
            "no process has the pid 301, did you mean '300'?");
  EXPECT_EQ(message({.threads = {}, .process = {}, .from_s = 2, .to_s = 1}),
            "the time from 2 s to 1 s is empty");
}

TEST(OnlyThread, CutsAViewToOneThread) {
  const Profile profile = profile_of(kText);
  const View view = select(profile, {.threads = {}, .process = {}, .from_s = 0.006, .to_s = {}});
  EXPECT_EQ(text_of(only_thread(view, 2)), "# thread 101 worker\nstart;work 2\n");
}

}  // namespace
}  // namespace sampan::profile

// The page of tasks: what it says of time without CPU.
#include <gtest/gtest.h>

#include <string>

#include "profile/view.h"
#include "reports/report.h"
#include "support/text_markers.h"
#include "support/text_profile.h"

namespace sampan::reports {
namespace {

// 12 ms of CPU, and steps of two threads.
std::string tasks_page(const std::string& stacks, const std::string& steps,
                       const profile::Selection& selection = {}) {
  profile::Profile profile = test::profile_of(stacks);
  test::add_markers(&profile, steps);
  return page(select(profile, selection), {.tasks = true});
}
constexpr const char* kHint = "their loops had no CPU: --clock wall shows steps that waited";
constexpr const char* kFirst = "step 100 4 12 task id=1 task=7 name=a text=f\n";

TEST(Tasks, ALoopThatHadCpuNeedsNoHint) {
  const std::string text = tasks_page("main 3\n", kFirst);
  EXPECT_NE(text.find("Tasks, most time first"), std::string::npos);
  EXPECT_EQ(text.find(kHint), std::string::npos) << text;
}

TEST(Tasks, TimeWithoutCpuIsSaid) {
  const std::string last = "step 100 90 104 task id=2 task=8 name=b text=f\n";
  EXPECT_NE(
      tasks_page("main 3\n", kFirst + last).find("for 0.088 s of 0.100 s " + std::string(kHint)),
      std::string::npos);
  EXPECT_EQ(tasks_page("main 3\n", kFirst + last, {.to_s = 0.012}).find(kHint), std::string::npos)
      << "not of other times";
}

TEST(Tasks, EachThreadHasItsOwnTime) {
  const std::string others = "step 101 50 54 task id=3 task=9 name=c text=f\n";
  EXPECT_EQ(tasks_page("main 3\n# thread 101 w\nmain 1\n", kFirst + others).find(kHint),
            std::string::npos);
}

TEST(Tasks, WhereWaitsWereSampledThereIsNoHint) {
  const std::string last = "step 100 90 104 task id=2 task=8 name=b text=f\n";
  EXPECT_EQ(tasks_page("main 3\nmain;~futex 1\n", kFirst + last).find(kHint), std::string::npos);
}

}  // namespace
}  // namespace sampan::reports

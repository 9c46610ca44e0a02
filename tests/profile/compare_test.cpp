#include "profile/diff.h"

#include <gtest/gtest.h>

#include "profile/load.h"
#include "profile/weights.h"
#include "support/text_profile.h"

namespace sampan::profile {
namespace {

recording::MergeInput input(const std::string& label, const std::string& path, uint64_t samples) {
  recording::Recording from;
  from.processes = {{100, 1, 5, path}};
  from.threads = {{0, 100, 5, "app"}, {0, 101, 6, "worker"}};
  from.modules = {{path, {}, 0, 0}};
  from.frames = {{0, 0x10}};
  from.stacks = {{recording::kNone, 0}};
  for (uint64_t i = 1; i <= samples; ++i) from.samples.push_back({0, 0, SessionNs::at(i), 4, {}});
  return {label, std::move(from)};
}

TEST(Compare, ThreadsAreOfASide) {
  const Profile profile = load_sides(input("old", "/old/app", 3), input("new", "/new/app", 5));
  EXPECT_EQ(profile.sides, (std::vector<std::string>{"old", "new"}));
  ASSERT_EQ(profile.threads.size(), 4u);
  EXPECT_EQ(profile.threads[1].side, 0);
  EXPECT_EQ(profile.threads[2].side, 1);
  EXPECT_EQ(profile.processes[1].name, "new: app");
  EXPECT_EQ(profile.processes[1].origin, 1u);
  const View view = select(profile);
  EXPECT_EQ(total_weight(only_side(view, 0)).samples, 3u);
  EXPECT_EQ(total_weight(only_side(view, 1)).samples, 5u);
  EXPECT_EQ(only_side(view, 1).threads.size(), 2u);
}

TEST(Compare, FunctionsOfOneNameAreOne) {
  Profile profile = test::profile_of(
      "# process 1 /old/app\n"
      "work@/src/a.c:10 1\n"
      "work@/src/b.c:10 1\n"
      "# process 2 /new/app\n"
      "work@/elsewhere/a.c:12 1\n"
      "work@/src/a.c:10@/lib/other.so 1\n");
  match_functions(profile);
  const auto function = [&](uint32_t line) { return profile.lines[line].function; };
  EXPECT_NE(function(0), function(1)) << "another file";
  EXPECT_EQ(function(0), function(2)) << "built anew, elsewhere";
  EXPECT_NE(function(0), function(3)) << "another module";
}

TEST(Compare, FilesOfOneNameInSeveralPackagesAreSeveral) {
  Profile profile = test::profile_of(
      "# process 1 /old/app\n"
      "load@/old/lib/python3.11/json/__init__.py:10@[python] 1\n"
      "load@/old/lib/python3.11/site-packages/toml/__init__.py:10@[python] 1\n"
      "load@/srv/a/w.py:10@[python] 1\n"
      "# process 2 /new/app\n"
      "load@/new/lib/python3.12/json/__init__.py:12@[python] 1\n"
      "load@/srv/b/w.py:12@[python] 1\n");
  match_functions(profile);
  const auto function = [&](uint32_t line) { return profile.lines[line].function; };
  EXPECT_NE(function(0), function(1));
  EXPECT_EQ(function(0), function(3)) << "in another folder of packages";
  EXPECT_EQ(function(2), function(4)) << "the same program, elsewhere";
}

}  // namespace
}  // namespace sampan::profile

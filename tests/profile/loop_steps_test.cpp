#include "profile/loop_steps.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "profile/frames.h"
#include "support/text_markers.h"
#include "support/text_profile.h"

namespace sampan::profile {
namespace {

// Samples at 4, 8, ... 48 ms of thread 1; thread 2 has no loop.
Profile profile_with_steps() {
  Profile profile = test::profile_of(
      "# process 1 /bin/a\n# thread 1 a\n"
      "main;_run@/lib/asyncio/events.py:1@[python];work@w.py:1@[python];parse@w.py:2@[python] 4\n"
      "main;_run@/lib/asyncio/events.py:1@[python];work@w.py:1@[python];memcpy 2\n"
      "main;select 2\n"
      "main;_run@/lib/asyncio/events.py:1@[python];tick@w.py:9@[python] 4\n"
      "# thread 2 b\nspin 9\n");
  test::add_markers(&profile,
                    "step 1 4 16 task id=1 task=7 name=Task-1 text=work\n"
                    "step 1 20 24 task id=2 task=8 name=Task-2 text=work\n"
                    "step 1 36 36 task id=3 task=9 name=named text=tick\n"
                    "step 1 40 44 callback id=4\n"
                    "step 1 48 48 unknown id=5 text=tick\n");
  return profile;
}

std::string text_of(const Profile& profile, const std::vector<TaskRow>& rows) {
  std::ostringstream text;
  for (const TaskRow& row : rows) {
    text << static_cast<int>(row.kind) << (row.outside ? "outside" : "") << " "
         << profile.markers.texts[row.name] << "/" << profile.markers.texts[row.coroutine] << " "
         << row.tasks << " " << row.cpu.ns / 1'000'000 << "+" << row.waiting.ns / 1'000'000 << " "
         << row.longest_ns / 1'000'000 << "\n";
  }
  return text.str();
}

TEST(LoopSteps, TasksWithoutANameOfTheirOwnAreTogether) {
  const Profile profile = profile_with_steps();
  EXPECT_EQ(text_of(profile, task_table(select(profile))),
            "1 /work 2 24+0 12\n"
            "2 / 0 8+0 4\n"
            "1 named/tick 1 4+0 0\n"
            "3 /tick 0 4+0 0\n"
            "3outside / 0 8+0 0\n");
}

TEST(LoopSteps, ATaskThatIsAloneHasItsName) {
  const Profile profile = profile_with_steps();
  EXPECT_EQ(text_of(profile, task_table(select(profile, {.to_s = 0.016}))),
            "1 Task-1/work 1 16+0 12\n"
            "3outside / 0 0+0 0\n");
}

TEST(LoopSteps, ProfilesWithoutStepsHaveNoTasks) {
  const Profile profile = test::profile_of("main;work 3\n");
  EXPECT_TRUE(task_table(select(profile)).empty());
  EXPECT_TRUE(loop_blocks(select(profile), 0).empty());
}

TEST(LoopSteps, AWaitIsInTheStepThatHasItsMiddle) {
  Profile profile = test::profile_of(
      "# process 1 /bin/a\n# thread 1 a\nmain;spin 1\nmain;read;~read file 2\nmain;spin 1\n"
      "main;poll;~poll x 3\n");
  test::add_markers(&profile, "step 1 4 16 task id=1 task=7 name=t text=work\n");
  EXPECT_EQ(text_of(profile, task_table(select(profile))),
            "1 t/work 1 8+8 12\n"
            "3outside / 0 0+12 0\n");
}

std::string functions_of(const Profile& profile, const LoopBlock& block) {
  std::string text;
  for (const uint32_t function : block.functions) {
    text += std::string(text.empty() ? "" : ";") + std::string(function_name(profile, function));
  }
  return text;
}

TEST(LoopSteps, BlocksHaveWhatTookMostOfTheirTime) {
  const Profile profile = profile_with_steps();
  const std::vector<LoopBlock> blocks = loop_blocks(select(profile), 4'000'000);
  ASSERT_EQ(blocks.size(), 3u);
  EXPECT_EQ(blocks[0].begin_ns, 4'000'000u);
  EXPECT_EQ(blocks[0].end_ns, 16'000'000u);
  EXPECT_EQ(blocks[0].samples, 4u);
  EXPECT_EQ(functions_of(profile, blocks[0]), "work;parse");
  EXPECT_EQ(functions_of(profile, blocks[1]), "work;memcpy");
  EXPECT_EQ(functions_of(profile, blocks[2]), "tick");
  EXPECT_EQ(loop_blocks(select(profile), 4'000'001).size(), 1u);
  EXPECT_TRUE(loop_blocks(select(profile, {.from_s = 0.017}), 5'000'000).empty());
}

TEST(LoopSteps, AStepOfSeveralTasksIsOneBlock) {
  Profile profile = test::profile_of("# process 1 /bin/a\n# thread 1 a\nmain;a 2\nmain;b 3\n");
  test::add_markers(&profile,
                    "step 1 4 8 task id=1 task=7 name=parent text=work\n"
                    "step 1 12 20 task id=1 task=8 name=eager text=work\n");
  const std::vector<LoopBlock> blocks = loop_blocks(select(profile), 0);
  ASSERT_EQ(blocks.size(), 1u);
  EXPECT_EQ(blocks[0].end_ns - blocks[0].begin_ns, 16'000'000u);
  EXPECT_EQ(profile.markers.texts[profile.markers.steps[blocks[0].step].name], "eager");
  EXPECT_EQ(blocks[0].samples, 5u);
}

TEST(LoopSteps, DefaultNamesAreThoseOfNumbers) {
  EXPECT_TRUE(is_default_name("Task-1"));
  EXPECT_TRUE(is_default_name("Task-1234"));
  for (const char* name : {"", "Task-", "Task", "task-1", "Task-1a", "Task--1"}) {
    EXPECT_FALSE(is_default_name(name)) << name;
  }
}

}  // namespace
}  // namespace sampan::profile

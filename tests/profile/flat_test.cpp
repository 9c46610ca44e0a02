#include "profile/flat.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "profile/frames.h"
#include "profile/load.h"
#include "support/text_profile.h"

namespace sampan::profile {
namespace {

using test::profile_of;

// "what self/total" of each row.
std::string table(const Profile& profile, By by, const View& view) {
  std::string text;
  Weight selves;
  for (const FlatRow& row : flat_table(view, by)) {
    const std::string file = profile.strings[row.file];
    switch (by) {
      case By::kFunction:
      case By::kLine:
        text += function_name(profile, row.function);
        if (row.line != 0) text += fmt::format("@{}:{}", file, row.line);
        break;
      case By::kFile:
        text += file.empty() ? fmt::format("({})", module_name(profile, row.module)) : file;
        break;
      case By::kModule: text += fmt::format("({})", module_name(profile, row.module)); break;
      case By::kThread: text += std::to_string(profile.threads[row.thread].tid); break;
      case By::kProcess: text += std::to_string(profile.processes[row.process].pid); break;
    }
    text += fmt::format(" {}/{}\n", row.self.samples, row.total.samples);
    selves += row.self;
  }
  EXPECT_EQ(selves, total_weight(view));
  return text;
}

std::string table(const char* text, By by) {
  const Profile profile = profile_of(text);
  return table(profile, by, select(profile));
}

TEST(Flat, CountsSelfAndTotal) {
  EXPECT_EQ(table("main;a;b 3\nmain;b 2\nmain 1\n", By::kFunction), "b 5/5\nmain 1/6\na 0/3\n");
}

TEST(Flat, CountsARecursiveFunctionOncePerSample) {
  EXPECT_EQ(table("main;f;f;g;f 3\nmain;f=>f 1\n", By::kFunction), "f 4/4\nmain 0/4\ng 0/3\n");
}

TEST(Flat, GivesTheInlinedFunctionItsOwnTime) {
  EXPECT_EQ(table("main;f=>inner 2\nmain;f 1\n", By::kFunction), "inner 2/2\nf 1/3\nmain 0/3\n");
}

TEST(Flat, ShowsSamplesOfWhichNothingIsKnown) {
  EXPECT_EQ(table("main 1\n 2\n", By::kFunction), "[unknown] 2/2\nmain 1/1\n");
}

TEST(Flat, ByLineTellsLinesOfAFunctionApart) {
  const char* text = "main@a.c:1:5;f@b.h:9 1\nmain@a.c:1:6;f@b.h:9:10 2\n";
  EXPECT_EQ(table(text, By::kLine), "f@b.h:10 2/2\nf@b.h:9 1/1\nmain@a.c:6 0/2\nmain@a.c:5 0/1\n");
  EXPECT_EQ(table(text, By::kFunction), "f@b.h:9 3/3\nmain@a.c:1 0/3\n");
}

TEST(Flat, ByLineCallsOfALineAreTogether) {
  const char* text = "run@w.py:3:5:9@[python];f 1\nrun@w.py:3:5:20@[python];f 2\n";
  EXPECT_EQ(table(text, By::kLine), "f 3/3\nrun@w.py:5 0/3\n");
  EXPECT_EQ(table(text, By::kFunction), "f 3/3\nrun@w.py:3 0/3\n");
}

TEST(Flat, ByFileNamesTheModuleWhereNoFileIsKnown) {
  EXPECT_EQ(table("main@a.c:1;f@a.c:2;memcpy@@/lib/libc.so 2\nmain@a.c:1 1\n", By::kFile),
            "(libc.so) 2/2\na.c 1/3\n");
}

TEST(Flat, ByModule) {
  EXPECT_EQ(table("main;memcpy@@/lib/libc.so 2\nmain 1\n", By::kModule),
            "(libc.so) 2/2\n(app) 1/3\n");
}

TEST(Flat, ThreadsOfOneNameStayApart) {
  const char* text =
      "main 1\n# thread 101 worker\nw 2\n# thread 102 worker\nw 3\n"
      "# process 200 /bin/sh\n# thread 200 sh\nmain 4\n";
  EXPECT_EQ(table(text, By::kThread), "200 4/4\n102 3/3\n101 2/2\n100 1/1\n");
  EXPECT_EQ(table(text, By::kProcess), "100 6/6\n200 4/4\n");
}

TEST(Flat, OfAPartSeesOnlyThatPart) {
  const Profile profile = profile_of("main;a 1\n# thread 101 worker\nmain;b 2\n");
  EXPECT_EQ(table(profile, By::kFunction, only_thread(select(profile), 1)), "b 2/2\nmain 0/2\n");
}

TEST(Flat, WithoutSymbolsKeepsModulesApart) {
  recording::Recording from;
  from.processes.resize(1);
  from.threads.push_back({0, 1, 0, "t"});
  from.modules = {{"/a", {}, 0, 0}, {"/b", {}, 0, 0}};
  from.frames = {{0, 1}, {1, 2}};
  from.stacks = {{kNone, 0}, {0, 1}};
  from.samples = {{0, 1, 1, 1, {}}};
  const Profile profile = load(std::move(from));
  EXPECT_EQ(table(profile, By::kModule, select(profile)), "(b) 1/1\n(a) 0/1\n");
}

}  // namespace
}  // namespace sampan::profile

#include "remote/top/content.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "known.h"

namespace sampan::top {
namespace {

std::string threads_of(const History& history, Choices choices = {}) {
  std::string text;
  for (const ThreadRow& row : content_of(history, choices).threads) {
    text += fmt::format("{} {} x{} {} cpu {} wait {} queue {} {}\n", row.tid, row.name, row.threads,
                        static_cast<char>(row.state), row.cpu_ns / 1'000'000,
                        row.waiting_ns / 1'000'000, row.queued_ns / 1'000'000, row.doing);
  }
  return text;
}

std::string functions_of(const History& history, Choices choices = {}) {
  choices.look = Look::kFunctions;
  std::string text;
  for (const FunctionRow& row : content_of(history, choices).functions) {
    text += fmt::format("{} {}/{} {}\n", row.name, row.self.samples, row.total.samples,
                        row.start_self.samples);
  }
  return text;
}

std::string tree_of(const History& history, Choices choices) {
  std::string text;
  for (const TreeRow& row : content_of(history, choices).tree) {
    text += fmt::format("{}{}{} {}/{}\n", std::string(row.depth, ' '),
                        !row.has_children ? " "
                        : row.is_open     ? "-"
                                          : "+",
                        row.name, row.total.samples, row.self.samples);
  }
  return text;
}

class Seen : public testing::Test {
 protected:
  Seen() { see(&history); }
  uint32_t function(const std::string& name) {
    const profile::Profile& profile = history.profile();
    for (uint32_t i = 0; i < profile.functions.size(); ++i) {
      if (profile.strings[profile.functions[i].name] == name) return i;
    }
    return profile::kNone;
  }
  History history{5 * kNsPerSecond};
};

TEST(PythonFunctions, AreTheSameWhereNameAndFileAre) {
  History history(5 * kNsPerSecond);
  see(&history,
      "main;run@/srv/a.py:1:2@[python] 2\nmain;run@/srv/a.py:1:3@[python] 1\n"
      "main;run@/usr/lib/python3.11/json/decoder.py:9@[python] 1\n");
  Choices choices;
  choices.look = Look::kFunctions;
  std::string text;
  for (const FunctionRow& row : content_of(history, choices).functions) {
    text += fmt::format("{} {} {}\n", row.name, row.module, row.self.samples);
  }
  EXPECT_EQ(text, "run a.py 3\nrun json.decoder 1\nmain app 0\n");
}

TEST_F(Seen, ThreadsAreSortedByCpu) {
  EXPECT_EQ(threads_of(history),
            "101 worker-1 x1 R cpu 300 wait 0 queue 0 mix\n"
            "100 app x1 S cpu 200 wait 400 queue 0 [poll tcp 10.0.0.1:443]\n"
            "102 worker-2 x1 Q cpu 100 wait 0 queue 200 [waiting for a CPU]\n");
}

TEST_F(Seen, ThreadsCanBeSortedByOtherColumns) {
  Choices choices;
  const auto first = [&] { return content_of(history, choices).threads[0].name; };
  choices.thread_sort = ThreadSort::kTid;
  EXPECT_EQ(first(), "app");
  choices.reversed = true;
  EXPECT_EQ(first(), "worker-2");
  choices.thread_sort = ThreadSort::kCpu;
  EXPECT_EQ(first(), "worker-2");
  choices = {.thread_sort = ThreadSort::kWait};
  EXPECT_EQ(first(), "app");
  choices = {.thread_sort = ThreadSort::kName, .reversed = true};
  EXPECT_EQ(first(), "worker-2");
  choices = {.thread_sort = ThreadSort::kSamples};
  EXPECT_EQ(first(), "app");
}

TEST_F(Seen, APoolIsOneRow) {
  EXPECT_EQ(threads_of(history, {.pools = true}),
            "101 worker x2 R cpu 400 wait 0 queue 200 mix\n"
            "100 app x1 S cpu 200 wait 400 queue 0 [poll tcp 10.0.0.1:443]\n");
  EXPECT_EQ(content_of(history, {.pools = true}).running, 1u);
  EXPECT_EQ(content_of(history, {.pools = true}).live, 3u);
}

TEST_F(Seen, AThreadWithoutRecentSamplesIsIdle) {
  see_more(&history, "main;log 1\n", 4 * kNsPerSecond, 5 * kNsPerSecond);
  EXPECT_EQ(content_of(history, {}).threads[0].state, ThreadState::kIdle);
}

TEST_F(Seen, FunctionsHaveSelfAndTotal) {
  EXPECT_EQ(functions_of(history),
            "hash 75/100 75\n"
            "parse 25/25 25\n"
            "mix 25/25 25\n"
            "serve 15/40 15\n"
            "log 10/10 10\n"
            "start 0/100 0\n"
            "work 0/100 0\n"
            "main 0/50 0\n");
}

TEST_F(Seen, FunctionsAlsoHaveTimesSinceTheStart) {
  see_more(&history, "main;log 3\n", 10 * kNsPerSecond, 11 * kNsPerSecond);
  Choices choices{.look = Look::kFunctions};
  Content content = content_of(history, choices);
  EXPECT_EQ(content.functions[0].name, "log");
  EXPECT_EQ(content.functions[0].self.samples, 3u);
  EXPECT_EQ(content.functions[0].start_self.samples, 13u);
  EXPECT_EQ(content.functions[1].self.samples, 0u);
  EXPECT_EQ(content.total.samples, 3u);
  choices.scope = Scope::kStart;
  content = content_of(history, choices);
  EXPECT_EQ(content.functions[0].name, "hash");
  EXPECT_EQ(content.total.samples, 153u);
}

TEST_F(Seen, TheWallClockIncludesWaits) {
  const Content cpu = content_of(history, {.look = Look::kFunctions});
  EXPECT_EQ(cpu.total.samples, 150u);
  const Content wall = content_of(history, {.look = Look::kFunctions, .clock = Clock::kWall});
  EXPECT_EQ(wall.total.samples, 300u);
  EXPECT_EQ(wall.functions[0].name, "[poll tcp 10.0.0.1:443]");
  EXPECT_EQ(wall.cpu_ns, 600'000'000u);
}

TEST_F(Seen, AThreadOrAPoolCanBeChosen) {
  Choices choices;
  choices.chosen = content_of(history, {}).threads[1].choice;
  EXPECT_EQ(functions_of(history, choices),
            "parse 25/25 25\nserve 15/40 15\nlog 10/10 10\nmain 0/50 0\n");
  EXPECT_EQ(chosen_name(history, choices), "thread 100 app");
  choices.pools = true;
  choices.chosen = content_of(history, choices).threads[0].choice;
  EXPECT_EQ(functions_of(history, choices),
            "hash 75/100 75\nmix 25/25 25\nstart 0/100 0\nwork 0/100 0\n");
  EXPECT_EQ(chosen_name(history, choices), "pool worker");
}

TEST_F(Seen, LargeBranchesOfTheTreeAreOpen) {
  see_more(&history, "main;rare;rarer;rarest 1\n", kNsPerSecond, 2 * kNsPerSecond);
  Choices choices{.look = Look::kTree};
  EXPECT_EQ(tree_of(history, choices),
            " -start 100/0\n"
            " -work 100/0\n"
            " -hash 100/75\n"
            "  mix 25/25\n"
            " -main 51/0\n"
            "  -serve 40/15\n"
            "   parse 25/25\n"
            "   log 10/10\n"
            "  +rare 1/0\n");
  const Content content = content_of(history, choices);
  choices.open[content.tree[0].id] = false;
  choices.open[content.tree[8].id] = true;
  EXPECT_EQ(tree_of(history, choices),
            " +start 100/0\n"
            " -main 51/0\n"
            "  -serve 40/15\n"
            "   parse 25/25\n"
            "   log 10/10\n"
            "  -rare 1/0\n"
            "  +rarer 1/0\n");
}

TEST_F(Seen, TheTreeCanBeInverted) {
  const Content content = content_of(history, {.look = Look::kTree, .inverted = true});
  EXPECT_EQ(content.tree[0].name, "hash");
  EXPECT_EQ(content.tree[0].total.samples, 75u);
  EXPECT_EQ(content.tree[1].name, "work");
  EXPECT_EQ(content.tree[2].name, "start");
}

TEST_F(Seen, ASandwichHasCallersAboveAndCalleesBelow) {
  const Choices choices{.look = Look::kSandwich, .focus = function("serve")};
  EXPECT_EQ(tree_of(history, choices),
            "  main 40/40\n"
            " serve 40/15\n"
            "  parse 25/25\n");
  EXPECT_TRUE(content_of(history, {.look = Look::kSandwich}).tree.empty());
}

}  // namespace
}  // namespace sampan::top

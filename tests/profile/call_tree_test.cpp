#include "profile/call_tree.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "support/text_profile.h"

namespace sampan::profile {
namespace {

using test::kSamplePeriod;
using test::profile_of;

// "name total/self" of each node, indented by depth.
void print(const CallTree& tree, const Profile& profile, uint32_t node, int depth,
           std::string* text) {
  *text += std::string(static_cast<size_t>(depth) * 2, ' ');
  *text += node == 0 ? "*" : function_name(profile, tree[node].function);
  if (tree[node].line != 0) *text += fmt::format(":{}", tree[node].line);
  *text += fmt::format(" {}/{}\n", tree[node].total.samples, tree[node].self.samples);
  EXPECT_EQ(tree[node].total.ns, tree[node].total.samples * kSamplePeriod);
  EXPECT_EQ(tree[node].self.ns, tree[node].self.samples * kSamplePeriod);
  for (const uint32_t child : tree.children(node)) {
    EXPECT_EQ(tree[child].parent, node);
    print(tree, profile, child, depth + 1, text);
  }
}

std::string print(const CallTree& tree, const Profile& profile) {
  std::string text;
  print(tree, profile, 0, 0, &text);
  return text;
}

TEST(CallTree, AddsUpAndPutsTheHeaviestFirst) {
  const Profile profile = profile_of(
      "main;a 1\n"
      "main;b;c 2\n"
      "main;b 3\n"
      "# thread 101 worker\n"
      "start;b 4\n"
      "main;a 1\n");
  EXPECT_EQ(print(call_tree(select(profile)), profile),
            "* 11/0\n"
            "  main 7/0\n"
            "    b 5/3\n"
            "      c 2/2\n"
            "    a 2/2\n"
            "  start 4/0\n"
            "    b 4/4\n");
}

TEST(CallTree, ExpandsInlinedFunctionsAndKeepsRecursion) {
  const Profile profile = profile_of(
      "main=>f;f;f=>g 2\n"
      "main;f 1\n"
      " 3\n");
  EXPECT_EQ(print(call_tree(select(profile)), profile),
            "* 6/3\n"
            "  main 3/0\n"
            "    f 3/1\n"
            "      f 2/0\n"
            "        f 2/0\n"
            "          g 2/2\n");
}

TEST(CallTree, TellsLinesApartWhenAsked) {
  const Profile profile = profile_of(
      "main@a.c:1:5;f@a.c:20 1\n"
      "main@a.c:1:6;f@a.c:20 2\n");
  EXPECT_EQ(print(call_tree(select(profile)), profile), "* 3/0\n  main 3/0\n    f 3/3\n");
  EXPECT_EQ(print(call_tree(select(profile), Granularity::kLine), profile),
            "* 3/0\n  main:6 2/0\n    f:20 2/2\n  main:5 1/0\n    f:20 1/1\n");
}

TEST(CallTree, OfAPartSeesOnlyThatPart) {
  const Profile profile = profile_of("main;a 1\n# thread 101 worker\nmain;b 2\n");
  EXPECT_EQ(print(call_tree(only_thread(select(profile), 1)), profile),
            "* 2/0\n  main 2/0\n    b 2/2\n");
  EXPECT_EQ(print(call_tree(View{.profile = &profile, .samples = {}, .threads = {}}), profile),
            "* 0/0\n");
}

TEST(CallTree, GrowsBeyondAFewNodes) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += fmt::format("main;f{};g{} 1\n", i % 100, i);
  const Profile profile = profile_of(text);
  const CallTree tree = call_tree(select(profile));
  EXPECT_EQ(tree.size(), 1u + 1 + 100 + 5000);
  EXPECT_EQ(tree[0].total.samples, 5000u);
  EXPECT_EQ(tree.children(1).size(), 100u);
}

TEST(CallersTree, GoesFromAFunctionUpToItsCallers) {
  const Profile profile = profile_of(
      "main;a;malloc 1\n"
      "main;b;malloc;brk 2\n"
      "main;b;malloc;hook;malloc 4\n"
      "main;b 8\n");
  const auto is_malloc = [&](uint32_t function) {
    return function_name(profile, function) == "malloc";
  };
  EXPECT_EQ(print(callers_tree(select(profile), is_malloc), profile),
            "* 7/0\n"
            "  malloc 7/0\n"
            "    hook 4/0\n"
            "      malloc 4/0\n"
            "        b 4/0\n"
            "          main 4/4\n"
            "    b 2/0\n"
            "      main 2/2\n"
            "    a 1/0\n"
            "      main 1/1\n");
}

TEST(CalleesTree, GoesFromAFunctionsOutermostCallDown) {
  const Profile profile = profile_of(
      "main;a;malloc 1\n"
      "main;b;malloc;brk 2\n"
      "main;b;malloc;hook;malloc 4\n"
      "main;b 8\n");
  const auto is_malloc = [&](uint32_t function) {
    return function_name(profile, function) == "malloc";
  };
  EXPECT_EQ(print(callees_tree(profile, by_stack(select(profile)), is_malloc), profile),
            "* 7/0\n"
            "  malloc 7/1\n"
            "    hook 4/0\n"
            "      malloc 4/4\n"
            "    brk 2/2\n");
}

}  // namespace
}  // namespace sampan::profile

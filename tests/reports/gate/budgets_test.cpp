#include "reports/gate/budgets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/error.h"

namespace sampan::reports {
namespace {

using ::testing::HasSubstr;

std::string refused(const std::string& text) {
  try {
    parse_budgets(text, "ci.toml");
    return "not refused";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(Budgets, AreRead) {
  const Budgets budgets = parse_budgets(R"(
runs = 7
[[budget]]
max = "2s"
[[budget]]
function = "parse"
figure = "share"
max = "30%"
max-growth = "2.5%"
[[budget]]
span = "request"
figure = "p99"
max = "150ms"
)",
                                        "ci.toml");
  EXPECT_EQ(budgets.runs, 7u);
  ASSERT_EQ(budgets.budgets.size(), 3u);
  EXPECT_EQ(key_of(budgets.budgets[0].quantity), "program cpu");
  EXPECT_EQ(budgets.budgets[0].max, 2.0);
  EXPECT_EQ(budgets.budgets[0].max_growth, std::nullopt);
  EXPECT_EQ(key_of(budgets.budgets[1].quantity), "function share parse");
  EXPECT_DOUBLE_EQ(*budgets.budgets[1].max, 0.3);
  EXPECT_DOUBLE_EQ(*budgets.budgets[1].max_growth, 0.025);
  EXPECT_EQ(key_of(budgets.budgets[2].quantity), "span p99 request");
  EXPECT_DOUBLE_EQ(*budgets.budgets[2].max, 0.15);
}

TEST(Budgets, InstructionsAndConfidence) {
  const Budgets budgets = parse_budgets(
      "[[budget]]\nfigure = \"instructions\"\nmax = 2_000_000\nconfidence = \"99.5%\"\n",
      "ci.toml");
  ASSERT_EQ(budgets.budgets.size(), 1u);
  EXPECT_EQ(key_of(budgets.budgets[0].quantity), "program instructions");
  EXPECT_EQ(budgets.budgets[0].max, 2e6);
  EXPECT_DOUBLE_EQ(budgets.budgets[0].confidence, 0.995);
  EXPECT_DOUBLE_EQ(Budget{}.confidence, 0.999);
}

TEST(Budgets, MistakesAreNamedWithTheirLine) {
  const std::string budget = "[[budget]]\n";
  EXPECT_THAT(refused("x ="), HasSubstr("ci.toml:1: "));
  EXPECT_THAT(refused(""), HasSubstr("no budgets"));
  EXPECT_THAT(refused("budget = 3"), HasSubstr("no budgets"));
  EXPECT_THAT(refused("budget = [3]"), HasSubstr("ci.toml:1: a budget is a table"));
  EXPECT_THAT(refused("run = 3"), HasSubstr("ci.toml:1: unknown key run, did you mean 'runs'?"));
  EXPECT_THAT(refused("runs = 1"), HasSubstr("ci.toml:1: runs is a whole number from 2"));
  EXPECT_THAT(refused("runs = \"x\""), HasSubstr("runs is a whole number"));
  EXPECT_THAT(refused(budget), HasSubstr("ci.toml:1: a budget needs max, max-growth or both"));
  EXPECT_THAT(refused(budget + "max = 2"), HasSubstr("ci.toml:2: a text in quotes"));
  EXPECT_THAT(refused(budget + "max = \"2 s\""), HasSubstr("ci.toml:2: a time such as"));
  EXPECT_THAT(refused(budget + "max-growth = \"2\""), HasSubstr("a percentage such as"));
  EXPECT_THAT(refused(budget + "max-growth = \"nan%\""), HasSubstr("a percentage such as"));
  EXPECT_THAT(refused(budget + "max-growth = \"inf%\""), HasSubstr("a percentage such as"));
  EXPECT_THAT(refused(budget + "max-growth = \"0%\""), HasSubstr("more than 0 %"));
  EXPECT_THAT(refused(budget + "max = \"1s\"\nconfidence = \"50%\""),
              HasSubstr("ci.toml:3: confidence is from 90 % to 99.9999 %"));
  EXPECT_THAT(refused(budget + "figure = \"instructions\"\nmax = \"1s\""),
              HasSubstr("ci.toml:3: a whole number such as 2_000_000 is wanted"));
  EXPECT_THAT(refused(budget + "figure = \"p50\"\nmax = \"1s\""),
              HasSubstr("ci.toml:2: a program has no figure p50"));
  EXPECT_THAT(refused(budget + "function = \"f\"\nthread = \"t\"\nmax = \"1s\""),
              HasSubstr("one of function, span and thread"));
  EXPECT_THAT(refused(budget + "function = \"\"\nmax = \"1s\""), HasSubstr("a name is wanted"));
}

}  // namespace
}  // namespace sampan::reports

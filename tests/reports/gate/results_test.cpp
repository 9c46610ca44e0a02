#include "reports/gate/results.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace sampan::reports {
namespace {

using ::testing::HasSubstr;

const Budget kBudget{.quantity = {Subject::kFunction, Figure::kCpu, "operator<|>"},
                     .max_growth = 0.05};

GateResults known_results() {
  GateResults results{.command = {"./app", "%"},
                      .differences = {"the kernel is another one"},
                      .rows = {},
                      .runs = 5};
  const RunValues before{{1, 1.001, 0.999, 1, 1}}, slower{{1.1, 1.101, 1.099, 1.1, 1.1}};
  const Series baseline = series_of(before.known(Subject::kFunction));
  results.rows.push_back(judge(kBudget, {.now = before, .before = before}, 3));
  results.rows.push_back(judge(kBudget, {.now = slower, .baseline = baseline}, 3));
  results.rows.push_back(judge(kBudget, {.now = {{1, 1.4, 1, 1.2, 1}}, .baseline = baseline}, 3));
  return results;
}

TEST(Gate, EachBudgetHasItsConfidence) {
  const GateValues values{.now = {{1.04, 1.10, 1.12, 1.06, 1.08}}, .baseline = Series{1, 1e-9, 5}};
  Budget budget = kBudget;
  EXPECT_EQ(judge(budget, values, 1).verdict, Verdict::kUnknown);
  budget.confidence = 0.9;
  EXPECT_EQ(judge(budget, values, 1).verdict, Verdict::kBroken);
}

TEST(Gate, TheWorstVerdictCounts) {
  GateResults results = known_results();
  EXPECT_EQ(results.rows[0].verdict, Verdict::kHeld);
  EXPECT_EQ(results.rows[1].verdict, Verdict::kBroken);
  EXPECT_EQ(results.rows[2].verdict, Verdict::kUnknown);
  EXPECT_EQ(results.rows[1].why, "it grew by 10.0 %, from 1 s to 1.1 s");
  EXPECT_THAT(results.rows[2].why, HasSubstr("would be enough"));
  EXPECT_EQ(results.verdict(), Verdict::kBroken);
  results.rows.erase(results.rows.begin() + 1);
  EXPECT_EQ(results.verdict(), Verdict::kUnknown);
  results.rows.pop_back();
  EXPECT_EQ(results.verdict(), Verdict::kHeld);
}

TEST(Gate, WhatCannotBeComparedIsUnknown) {
  EXPECT_THAT(judge(kBudget, {.now = {{std::nullopt, std::nullopt}}}, 1).why,
              HasSubstr("is the name right?"));
  EXPECT_THAT(judge(kBudget, {.now = {{1, 1}}}, 1).why, HasSubstr("nothing to compare with"));
  EXPECT_THAT(judge(kBudget, {.now = {{1, 1}}, .before = {{std::nullopt, std::nullopt}}}, 1).why,
              HasSubstr("nothing to compare with"));
  EXPECT_THAT(judge(kBudget, {.now = {{1, 1}}, .baseline = Series{0, 0, 5}}, 1).why,
              HasSubstr("nothing to compare with"));
  EXPECT_THAT(judge(kBudget, {.now = {{0.01, 0.01}}, .baseline = Series{0.01, 1, 2}}, 1).why,
              HasSubstr("however many there are"));
}

TEST(Gate, ARunMayLackAFunctionButNoSpan) {
  Budget budget{.quantity = {Subject::kSpan, Figure::kP50, "request"}, .max = 2};
  const RunValues some{{1, std::nullopt, 1}};
  EXPECT_EQ(judge(budget, {.now = some}, 1).why, "only 2 of 3 runs have it");
  budget.quantity = {Subject::kFunction, Figure::kCpu, "rare"};
  const GateRow row = judge(budget, {.now = some}, 1);
  ASSERT_TRUE(row.value);
  EXPECT_DOUBLE_EQ(row.value->value, 2.0 / 3);
}

// Runs of one or two samples are equal by chance.
TEST(Gate, AFewSamplesAreNoProof) {
  const RunValues before{{0.004, 0.004}, 0.004}, now{{0.008, 0.008}, 0.004};
  EXPECT_EQ(judge(kBudget, {.now = now, .before = before}, 1).verdict, Verdict::kUnknown);
  EXPECT_EQ(judge(kBudget, {.now = now, .baseline = series_of({0.004, 0.004}, 0.004)}, 1).verdict,
            Verdict::kUnknown);
}

TEST(Gate, AMaximumIsBrokenWhateverTheGrowth) {
  Budget budget = kBudget;
  budget.max = 1;
  const GateRow row = judge(budget, {.now = {{2, 2.001, 1.999}}, .baseline = {}}, 1);
  EXPECT_EQ(row.verdict, Verdict::kBroken);
  EXPECT_EQ(row.why, "2 s is more than 1 s");
  EXPECT_EQ(verdicts_of({budget, kBudget}), 3u);
}

TEST(Gate, IsATable) {
  const std::string page = gate_page(known_results(), {.width = 120});
  EXPECT_THAT(page, HasSubstr("note: the kernel is another one"));
  EXPECT_THAT(page, HasSubstr("function operator<|>: cpu"));
  EXPECT_THAT(page, HasSubstr("BROKEN"));
  EXPECT_THAT(page, HasSubstr("3 budgets of 5 runs: 1 held, 1 broken, 1 unknown"));
}

TEST(Gate, MarkdownIsEscaped) {
  const std::string text = gate_markdown(known_results());
  EXPECT_THAT(text, HasSubstr("| function operator&lt;\\|&gt;: cpu |"));
  EXPECT_THAT(text, HasSubstr("**sampan ci**: ./app %"));
}

TEST(Gate, JunitIsEscaped) {
  const std::string text = gate_junit(known_results());
  EXPECT_THAT(text, HasSubstr("tests=\"3\" failures=\"1\" errors=\"1\""));
  EXPECT_THAT(text, HasSubstr("name=\"function operator&lt;|&gt;: cpu\""));
  EXPECT_THAT(text, HasSubstr("<failure message=\"it grew by 10.0 %, from 1 s to 1.1 s\"/>"));
}

TEST(Gate, AnnotationsAreOneLineEach) {
  const std::string text = gate_annotations(known_results());
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
  EXPECT_THAT(text,
              HasSubstr("::error title=sampan ci::function operator<|>: cpu: it grew by 10.0 %25"));
  EXPECT_THAT(text, HasSubstr("::warning "));
}

}  // namespace
}  // namespace sampan::reports

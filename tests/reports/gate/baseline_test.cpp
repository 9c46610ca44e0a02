#include "reports/gate/baseline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/error.h"

namespace sampan::reports {
namespace {

using ::testing::HasSubstr;

Baseline known_baseline() {
  return {.command = {"./app", "a b"},
          .environment = {.processor = "CPU \"X\"",
                          .cpus = 2,
                          .kernel = "6.1",
                          .governor = "",
                          .load = 0.25,
                          .stolen = 0.01},
          .series = {{*quantity_of("program cpu"), {1.0 / 3, 1e-9, 10}},
                     {*quantity_of("function self operator<"), {0.5, 0, 10}}}};
}

TEST(Baseline, IsReadAsItWasWritten) {
  const Baseline before = known_baseline();
  const Baseline after = parse_baseline(baseline_text(before), "b.json");
  EXPECT_EQ(after.command, before.command);
  EXPECT_EQ(differences(before.environment, after.environment), std::vector<std::string>());
  ASSERT_EQ(after.series.size(), 2u);
  const Series& cpu = after.series.at(*quantity_of("program cpu"));
  EXPECT_EQ(cpu.mean, 1.0 / 3);
  EXPECT_EQ(cpu.variance, 1e-9);
  EXPECT_EQ(cpu.runs, 10u);
}

TEST(Baseline, IsSmall) {
  Baseline baseline = known_baseline();
  for (int i = 0; i < 1000; ++i) {
    baseline.series[{Subject::kFunction, Figure::kCpu, "function_" + std::to_string(i)}] = {
        1e-3 * i, 1e-8, 10};
  }
  const std::string text = baseline_text(baseline);
  EXPECT_LE(text.size(), kLargestBaseline);
  EXPECT_GT(text.size(), kLargestBaseline - 200);
  const Baseline read = parse_baseline(text, "b.json");
  EXPECT_TRUE(read.series.contains(*quantity_of("program cpu")));
  EXPECT_TRUE(read.series.contains(*quantity_of("function cpu function_999")));
  EXPECT_FALSE(read.series.contains(*quantity_of("function cpu function_1")));
}

TEST(Baseline, OtherFilesAreRefused) {
  const std::string text = baseline_text(known_baseline());
  const auto refused = [](const std::string& file) {
    try {
      parse_baseline(file, "b.json");
      return std::string("not refused");
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string other = text;
    return refused(other.replace(other.find(from), from.size(), to));
  };
  EXPECT_THAT(refused(""), HasSubstr("b.json: this is no JSON"));
  EXPECT_THAT(refused(text.substr(0, text.size() / 2)), HasSubstr("no JSON"));
  EXPECT_THAT(refused(std::string(100'000, '[')), HasSubstr("no JSON")) << "no stack overflow";
  EXPECT_THAT(refused("[]"), HasSubstr("no baseline of sampan ci"));
  EXPECT_THAT(refused("{}"), HasSubstr("sampan_baseline is missing"));
  EXPECT_THAT(changed("\"sampan_baseline\": 1", "\"sampan_baseline\": 2"),
              HasSubstr("another version"));
  EXPECT_THAT(changed("\"cpus\": 2", "\"cpus\": -2"), HasSubstr("cpus: a number from 0 on"));
  EXPECT_THAT(changed("program cpu", "program p50"), HasSubstr("unknown figure program p50"));
  EXPECT_THAT(changed("\"./app\"", "7"), HasSubstr("command: texts are wanted"));
  EXPECT_THAT(changed("\"runs\": 10", "\"runs\": 1e99"), HasSubstr("runs: a number"));
}

TEST(Environment, DifferencesAreNamed) {
  const Environment a = known_baseline().environment;
  Environment b = a;
  b.processor = "CPU Y";
  b.load = 4;
  b.stolen = 0.2;
  EXPECT_THAT(differences(a, b), ::testing::ElementsAre(HasSubstr("CPU Y"), HasSubstr("4.0 now"),
                                                        HasSubstr("20.0 % now")));
  const Environment now = environment_now();
  EXPECT_GT(now.cpus, 0u);
  EXPECT_NE(now.kernel, "");
}

}  // namespace
}  // namespace sampan::reports

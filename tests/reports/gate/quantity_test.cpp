#include "reports/gate/quantity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/text_profile.h"

namespace sampan::reports {
namespace {

TEST(Quantity, HasAKey) {
  for (const char* key : {"program cpu", "program wall", "thread cpu io worker",
                          "function self f(a b)", "function share x", "span p99 GET /"}) {
    ASSERT_TRUE(quantity_of(key)) << key;
    EXPECT_EQ(key_of(*quantity_of(key)), key);
  }
  for (const char* key : {"", "program", "program p50", "program cpu x", "function cpu",
                          "function cpu ", "file cpu x", "span cpu x"}) {
    EXPECT_FALSE(quantity_of(key)) << key;
  }
}

TEST(Quantity, IsShownWithAsManyDigitsAsItHas) {
  EXPECT_EQ(value_text(Figure::kCpu, 0.30612, 0.00923), "306.1 ± 9.2 ms");
  EXPECT_EQ(value_text(Figure::kCpu, 12.3456, 0.2), "12.35 ± 0.20 s");
  EXPECT_EQ(value_text(Figure::kShare, 0.301234, 0.02), "30.1 ± 2.0 %");
  EXPECT_EQ(value_text(Figure::kCpu, 5, 0), "5.000 ± 0.000 s");
  EXPECT_EQ(value_text(Figure::kCpu, 2), "2 s");
  EXPECT_EQ(value_text(Figure::kCpu, 0.150512), "151 ms");
}

TEST(RunFigures, AreThoseOfTheReport) {
  const profile::Profile profile = test::profile_of(
      "# process 100 /usr/bin/app\n"
      "# thread 100 app\n"
      "main;parse(int);parse(char) 3\n"
      "main;work;parse(int) 1\n"
      "main;work 2\n"
      "main;read;~read pipe:[7] 5\n"
      "# thread 101 worker\n"
      "run;work 4\n");
  const profile::View view = profile::select(profile);
  const RunFigures figures(view);
  const auto value = [&](const char* key) { return figures.value(*quantity_of(key)); };
  EXPECT_DOUBLE_EQ(*value("function cpu work"), 0.028);
  EXPECT_DOUBLE_EQ(*value("function self work"), 0.024);
  EXPECT_DOUBLE_EQ(*value("function share work"), 0.7);
  EXPECT_DOUBLE_EQ(*value("function cpu parse"), 0.016)
      << "overloads count together, once a sample";
  EXPECT_DOUBLE_EQ(*value("function cpu parse(int)"), 0.016);
  EXPECT_DOUBLE_EQ(*value("function self parse(int)"), 0.004);
  EXPECT_FALSE(value("function cpu nowhere"));
  EXPECT_FALSE(value("function cpu read")) << "to wait is no CPU";
  EXPECT_FALSE(value("thread cpu nobody"));
  EXPECT_DOUBLE_EQ(figures.resolution(*quantity_of("function cpu work")), 0.004);
  EXPECT_DOUBLE_EQ(figures.resolution(*quantity_of("function share work")), 0.1);
  EXPECT_EQ(figures.resolution(*quantity_of("program cpu")), 0);
  EXPECT_DOUBLE_EQ(*value("thread cpu worker"), 0.016);
  EXPECT_DOUBLE_EQ(*value("program cpu"), 0.04);
  EXPECT_FALSE(value("span p50 request"));
}

TEST(RunFigures, SpansHavePercentiles) {
  profile::Profile profile = test::profile_of("main 50");
  profile.markers.texts = {"", "request"};
  for (uint64_t i = 1; i <= 100; ++i) {
    profile.markers.spans.push_back({.begin_ns = SessionNs::at(i),
                                     .end_ns = SessionNs::at(i + i * 1'000'000),
                                     .id = i,
                                     .name = 1});
  }
  const profile::View view = profile::select(profile);
  const RunFigures figures(view);
  EXPECT_DOUBLE_EQ(*figures.value(*quantity_of("span p50 request")), 0.05);
  EXPECT_DOUBLE_EQ(*figures.value(*quantity_of("span p99 request")), 0.099);
  EXPECT_DOUBLE_EQ(*figures.value(*quantity_of("span average request")), 0.0505);
  const std::vector<Quantity> notable = figures.notable();
  for (const char* key :
       {"program cpu", "program wall", "span p99 request", "function self main"}) {
    EXPECT_THAT(notable, ::testing::Contains(*quantity_of(key))) << key;
  }
  for (const Quantity& quantity : notable) EXPECT_TRUE(figures.value(quantity)) << key_of(quantity);
}

}  // namespace
}  // namespace sampan::reports

#include "profile/unit.h"

#include <gtest/gtest.h>

namespace sampan::profile {
namespace {

Session counting(const std::string& unit) {
  Session session;
  session.unit = unit;
  return session;
}

TEST(Unit, TimeIsInSeconds) {
  const Unit unit(counting(""), 5'000'000'000);
  EXPECT_TRUE(unit.is_time());
  EXPECT_EQ(unit.amount(1'234'000'000), "1.234 s");
  EXPECT_EQ(unit.plural(), "seconds");
  EXPECT_EQ(unit.key("self"), "self_s");
  EXPECT_DOUBLE_EQ(unit.value(1'500'000'000), 1.5);
}

TEST(Unit, CountsAreWholeOrHaveAPrefix) {
  const Unit few(counting("cycles"), 9'999 * kWeightOfOne);
  EXPECT_EQ(few.amount(1'234 * kWeightOfOne), "1,234 cycles");
  const Unit many(counting("cycles"), 1'234'567 * kWeightOfOne);
  EXPECT_EQ(many.name(), "k cycles");
  EXPECT_EQ(many.text(1'234'567 * kWeightOfOne), "1,234.6");
  EXPECT_EQ(many.text(500 * kWeightOfOne), "0.500");
  EXPECT_EQ(many.key("self"), "self");
  EXPECT_DOUBLE_EQ(many.value(12'345'678 * kWeightOfOne), 12'345'678);
  EXPECT_EQ(Unit(counting("cycles"), 123'456'789 * kWeightOfOne).name(), "M cycles");
}

TEST(Unit, BytesHaveTheirOwnNames) {
  EXPECT_EQ(Unit(counting("bytes"), 100 * kWeightOfOne).amount(100 * kWeightOfOne), "100 bytes");
  EXPECT_EQ(Unit(counting("bytes"), 80'935'293 * kWeightOfOne).amount(80'935'293 * kWeightOfOne),
            "80.94 MB");
}

TEST(Unit, TheLargestWeightIsShown) {
  EXPECT_EQ(Unit(counting("cycles"), UINT64_MAX).name(), "P cycles");
}

}  // namespace
}  // namespace sampan::profile

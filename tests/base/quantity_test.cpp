#include "base/text/quantity.h"

#include <gtest/gtest.h>

namespace sampan {
namespace {

TEST(Quantity, TimesHaveUnitsOrAreSeconds) {
  EXPECT_EQ(parse_time("10"), 10 * kNsPerSecond);
  EXPECT_EQ(parse_time("0.3"), 300 * kNsPerMs);
  EXPECT_EQ(parse_time(".5"), 500 * kNsPerMs);
  EXPECT_EQ(parse_time("10us"), 10 * kNsPerUs);
  EXPECT_EQ(parse_time("500ms"), 500 * kNsPerMs);
  EXPECT_EQ(parse_time("10s"), 10 * kNsPerSecond);
  EXPECT_EQ(parse_time("1.5m"), 90 * kNsPerSecond);
  EXPECT_EQ(parse_time("1h"), 3600 * kNsPerSecond);
  EXPECT_EQ(parse_time("7d"), 7 * 86400 * kNsPerSecond);
  EXPECT_EQ(parse_time("20", kNsPerMs), 20 * kNsPerMs);
  EXPECT_EQ(parse_time("20s", kNsPerMs), 20 * kNsPerSecond);
}

TEST(Quantity, SizesNeedAUnit) {
  EXPECT_EQ(parse_size("100K"), 100u << 10);
  EXPECT_EQ(parse_size("0.5M"), 1u << 19);
  EXPECT_EQ(parse_size("2G"), uint64_t{2} << 30);
  EXPECT_EQ(parse_size("1T"), uint64_t{1} << 40);
  EXPECT_EQ(parse_size("100"), std::nullopt);
  EXPECT_EQ(parse_size("100", PlainNumber::kBytes), 100u);
  EXPECT_EQ(parse_size("100m"), std::nullopt);
}

TEST(Quantity, RatesAreWholeNumbers) {
  EXPECT_EQ(parse_rate("0"), 0u);
  EXPECT_EQ(parse_rate("99"), 99u);
  EXPECT_EQ(parse_rate("1k"), 1000u);
  EXPECT_EQ(parse_rate("2.5k"), 2500u);
  EXPECT_EQ(parse_rate("99.5"), std::nullopt);
}

TEST(Quantity, WhatIsNoNumberOrTooLargeIsNothing) {
  for (const char* text : {"", "abc", "s", ".", "-1", "+1", " 1", "1 ", "1 s", "inf", "nan", "1e3",
                           "0x10", "10x", "10ss", "10S", "100000d", "99999999999999999999"}) {
    EXPECT_EQ(parse_time(text), std::nullopt) << text;
  }
  EXPECT_EQ(parse_size("99999999T"), std::nullopt);
  EXPECT_EQ(parse_rate("-1"), std::nullopt);
}

}  // namespace
}  // namespace sampan

#include "base/text/readable.h"

#include <gtest/gtest.h>

#include <iterator>

namespace sampan {
namespace {

TEST(Text, CountsAreGroupedByThousands) {
  EXPECT_EQ(count(0), "0");
  EXPECT_EQ(count(999), "999");
  EXPECT_EQ(count(1000), "1,000");
  EXPECT_EQ(count(1234567), "1,234,567");
  EXPECT_EQ(plural(1, "process"), "1 process");
  EXPECT_EQ(plural(2000, "process"), "2,000 processes");
  EXPECT_EQ(plural(0, "thread"), "0 threads");
}

TEST(Text, SecondsHaveAsManyDigitsAsTell) {
  EXPECT_EQ(seconds(0), "0.000");
  EXPECT_EQ(seconds(4'000'000), "0.004");
  EXPECT_EQ(seconds(9'999'400'000), "9.999");
  EXPECT_EQ(seconds(9'999'600'000), "10.00");
  EXPECT_EQ(seconds(999'940'000'000), "999.94");
  EXPECT_EQ(seconds(1'234'560'000'000), "1,234.6");
}

TEST(Text, APercentageOfNothingIsNone) {
  EXPECT_EQ(percent(1, 3), "33.3");
  EXPECT_EQ(percent(0, 5), "0.0");
  EXPECT_EQ(percent(0, 0), "-");
}

TEST(Text, AThreadsNameCannotMoveTheCursor) {
  EXPECT_EQ(printable("a\033[2Jb\n\x7f"), "a?[2Jb??");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "?31m");  // CSI in one character
  EXPECT_EQ(printable("gr\xc3\xbc\xc3\x9f"), "grüß");
  EXPECT_EQ(printable("gr\xc3"), "gr\xef\xbf\xbd");
}

TEST(Text, IsCutBetweenCharacters) {
  EXPECT_EQ(columns("grüße"), 5u);
  EXPECT_EQ(cut_end("grüße", 5), "grüße");
  EXPECT_EQ(cut_end("grüße", 4), "grü…");
  EXPECT_EQ(cut_end("grüße", 1), "…");
  EXPECT_EQ(cut_end("grüße", 0), "");
  EXPECT_EQ(cut_start("grüße", 4), "…üße");
  EXPECT_EQ(cut_start("grüße", 0), "");
}

TEST(Text, IsWrappedAtSpaces) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(wrap("one two three", 80), Lines{"one two three"});
  EXPECT_EQ(wrap("one two three", 7), (Lines{"one two", "three"}));
  EXPECT_EQ(wrap("one two three", 6), (Lines{"one", "two", "three"}));
  EXPECT_EQ(wrap("a /very/long/path b", 4), (Lines{"a", "/very/long/path", "b"}));
  EXPECT_EQ(wrap("", 4), Lines{});
}

TEST(Text, NumbersInNamesCount) {
  const char* const names[] = {"",     "Task",  "Task-2", "Task-10", "Task-10a",
                               "a2b3", "a2b10", "a10b1",  "task",    "β"};
  for (size_t i = 0; i < std::size(names); ++i) {
    for (size_t j = 0; j < std::size(names); ++j) {
      EXPECT_EQ(natural_less(names[i], names[j]), i < j) << names[i] << " " << names[j];
    }
  }
  EXPECT_FALSE(natural_less("a01", "a1"));
  EXPECT_FALSE(natural_less("a1", "a01"));
  EXPECT_TRUE(natural_less("a9", "a0000000000000000000000000000010"));
}

TEST(Text, PathsLoseTheirFirstDirectories) {
  const std::string path = "/build/xz-5.4/src/lz/lz_encoder.c:240";
  EXPECT_EQ(cut_path(path, 80), path);
  EXPECT_EQ(cut_path(path, 30), "…/src/lz/lz_encoder.c:240");
  EXPECT_EQ(cut_path(path, 18), "…/lz_encoder.c:240");
  EXPECT_EQ(cut_path(path, 17), "lz_encoder.c:240");
  EXPECT_EQ(cut_path(path, 10), "…der.c:240");
  EXPECT_EQ(file_name("/a/b"), "b");
  EXPECT_EQ(file_name("b"), "b");
}

TEST(Text, DurationsHaveThreeDigitsAndAUnit) {
  EXPECT_EQ(duration(0), "0ns");
  EXPECT_EQ(duration(999), "999ns");
  EXPECT_EQ(duration(999.7), "1.00µs");
  EXPECT_EQ(duration(1250), "1.25µs");
  EXPECT_EQ(duration(99'949), "99.9µs");
  EXPECT_EQ(duration(999'600), "1.00ms");
  EXPECT_EQ(duration(3e9), "3.00s");
  EXPECT_EQ(duration(12'345e9), "12,345s");
}

}  // namespace
}  // namespace sampan

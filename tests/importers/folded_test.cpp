#include <gtest/gtest.h>

#include "importers/imported.h"
#include "profile/unit.h"

namespace sampan::importers {
namespace {

using profile::kWeightOfOne;

TEST(Folded, CountsSamples) {
  const profile::Profile profile =
      load_bytes("main;parse 3\n# a comment\n\nmain;parse;read 2\r\nmain 1");
  EXPECT_EQ(profile.session.unit, "samples");
  const auto stacks = stacks_of(profile);
  ASSERT_EQ(stacks.size(), 3u);
  EXPECT_EQ(stacks.at("all;main;parse"), (Sum{3, 3 * kWeightOfOne}));
  EXPECT_EQ(stacks.at("all;main;parse;read"), (Sum{2, 2 * kWeightOfOne}));
  EXPECT_EQ(stacks.at("all;main"), (Sum{1, kWeightOfOne}));
}

TEST(Folded, ARateMakesTimeOfCounts) {
  const profile::Profile profile = load_bytes("main;parse 3\n", "", {.rate_hz = 100});
  EXPECT_EQ(profile.session.unit, "");
  EXPECT_EQ(stacks_of(profile).at("all;main;parse"), (Sum{3, 30'000'000}));
}

// Names of C++ and of Java have blanks and brackets.
TEST(Folded, NamesMayHaveBlanks) {
  const auto stacks =
      stacks_of(load_bytes("operator new(unsigned long);Foo<int, int>::run() const 7\n"));
  EXPECT_TRUE(stacks.contains("all;operator new(unsigned long);Foo<int, int>::run() const"));
}

TEST(Folded, ManySamplesShareTheWeight) {
  const profile::Profile profile = load_bytes("main 9000000000\n");
  EXPECT_LT(profile.samples.size(), 2'000'000u);
  EXPECT_EQ(stacks_of(profile).at("all;main").weight, 9'000'000'000 * kWeightOfOne);
}

TEST(Folded, WrongLinesAreNamed) {
  EXPECT_EQ(error_of("main 1\nmain;parse\n", "folded"),
            "line 2 has no count at its end: 'main;parse'");
  EXPECT_EQ(error_of("main 99999999999999999\n", "folded"), "line 1: the count is too large");
  EXPECT_EQ(error_of("main 0\n", "folded"), "it has no samples");
}

}  // namespace
}  // namespace sampan::importers

#include "support/text_profile.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace sampan::test {
namespace {

TEST(TextProfile, ComesBackAsItWas) {
  const char* text =
      "# thread 100 app\n"
      "main;outer=>inner;leaf 1\n"
      "main;work;spin 3\n"
      "# thread 102 worker\n"
      " 2\n"
      "start;work 4\n"
      "# thread 101 worker\n"
      "start;work 1\n";
  const profile::Profile profile = profile_of(text);
  EXPECT_EQ(text_of(select(profile)), text);
  EXPECT_EQ(profile.threads[1].complete_stacks, 4u);
  EXPECT_EQ(profile.threads[1].samples, 6u);
}

TEST(TextProfile, KnowsPlacesAndModules) {
  const profile::Profile profile = profile_of("main@a.c:10:12;memcpy@@/lib/libc.so 2\n");
  ASSERT_EQ(profile.functions.size(), 2u);
  EXPECT_EQ(profile.strings[profile.functions[0].file], "a.c");
  EXPECT_EQ(profile.functions[0].line, 10u);
  EXPECT_EQ(profile.lines[0].line, 12u);
  EXPECT_EQ(profile.modules[profile.functions[1].module].path, "/lib/libc.so");
  EXPECT_EQ(profile.samples[1].time_ns, 2 * kSamplePeriod);
}

TEST(TextProfile, RefusesALineWithoutANumber) {
  EXPECT_THROW(profile_of("main;foo"), Error);
  EXPECT_THROW(profile_of("main;foo x"), Error);
}

}  // namespace
}  // namespace sampan::test

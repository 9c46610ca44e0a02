#include "profile/unresolved.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "profile/frames.h"
#include "support/text_profile.h"

namespace sampan::profile {
namespace {

// "module unnamed/on stack/without lines", in samples.
std::string table(std::string_view text) {
  const Profile profile = test::profile_of(text);
  std::string result;
  const auto samples = [](uint64_t ns) { return ns / test::kSamplePeriod; };
  for (const Unresolved& row : unresolved_by_module(profile)) {
    result +=
        fmt::format("{} {}/{}/{}\n", module_name(profile, row.module), samples(row.unnamed_ns),
                    samples(row.on_stack_ns), samples(row.without_lines_ns));
  }
  return result;
}

TEST(Unresolved, CountsSamplesByTheModuleThatLacksNames) {
  EXPECT_EQ(table("main@a.c:1:2;[a.so+0x10]@@/lib/a.so 3\n"
                  "main@a.c:1:2;[a.so+0x10]@@/lib/a.so;[b.so+0x20]@@/lib/b.so 2\n"
                  "main@a.c:1:2;[b.so+0x20]@@/lib/b.so;work@a.c:3:4 4\n"
                  "main@a.c:1:2;work@a.c:3:4 5\n"),
            "a.so 3/5/0\n"
            "b.so 2/6/0\n");
}

TEST(Unresolved, TellsNamesWithoutLinesFromNoNames) {
  EXPECT_EQ(table("main@a.c:1:2;memcpy@@/lib/libc.so 3\n"
                  "main@a.c:1:2;[x.so+0x10]@@/lib/x.so 1\n"
                  "memcpy@@/lib/libc.so;main@a.c:1:2 2\n"),
            "x.so 1/1/0\n"
            "libc.so 0/0/3\n");
}

TEST(Unresolved, CountsAFunctionThatCallsItselfOnce) {
  EXPECT_EQ(table("[a.so+0x10]@@/lib/a.so;[a.so+0x10]@@/lib/a.so 4\n"), "a.so 4/4/0\n");
}

TEST(Unresolved, LeavesWaitsOut) {
  EXPECT_EQ(table("main@a.c:1:2;[a.so+0x10]@@/lib/a.so;~read pipe:[7] 5\n"
                  "main@a.c:1:2 1\n"),
            "");
}

}  // namespace
}  // namespace sampan::profile

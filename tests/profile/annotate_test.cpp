#include "profile/annotate.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "profile/frames.h"
#include "support/text_profile.h"

namespace sampan::profile {
namespace {

constexpr const char* kText =
    "main@a.c:1:3;work@a.c:10:12 5\n"
    "main@a.c:1:3;work@a.c:10:14;leaf@b.c:1 2\n"
    "main@a.c:1:4;work@a.c:10:12=>inner@in.h:5:6 4\n"
    "main@a.c:1:4;work@a.c:10:14;work@a.c:10:14;leaf@b.c:1 1\n"
    "main@a.c:1:4;(anonymous namespace)::hidden(int) 3\n"
    "main@a.c:1:4;ns::Box<a::b>::operator()(int) const 1\n";

TEST(Annotate, LinesAddUpToTheFunctionsSelf) {
  const Profile profile = test::profile_of(kText);
  const Annotation found = annotate(select(profile), "work");
  EXPECT_EQ(found.function.self.samples, 5u);
  EXPECT_EQ(found.function.total.samples, 12u);
  EXPECT_EQ(found.all.samples, 16u);
  ASSERT_EQ(found.lines.size(), 2u);
  EXPECT_EQ(found.lines[0].line, 12u);
  EXPECT_EQ(found.lines[0].self.samples, 5u);
  EXPECT_EQ(found.lines[0].total.samples, 9u) << "with what is inlined there";
  EXPECT_EQ(found.lines[1].self.samples, 0u);
  EXPECT_EQ(found.lines[1].total.samples, 3u) << "recursion counts once";
}

TEST(Annotate, CountsCForTheLineOfPythonThatCallsIt) {
  const Profile profile = test::profile_of(
      "main;run@w.py:1:2@[python];Job.pack@w.py:5:6@[python];deflate@@libz.so 4\n"
      "main;run@w.py:1:2@[python];Job.pack@w.py:5:6@[python] 1\n"
      "main;run@w.py:1:2@[python];Job.pack@w.py:5:7@[python];sort@@libc.so;key@w.py:9@[python] 2\n"
      "main;run@w.py:1:2@[python];Job.pack@w.py:5:7@[python];Job.pack@w.py:5:6@[python];~read 1\n"
      "main;run@w.py:1:3@[python] 2\n");
  const Annotation found = annotate(select(profile), "pack");
  EXPECT_TRUE(found.is_python);
  EXPECT_EQ(function_name(profile, found.function.function), "Job.pack");
  EXPECT_EQ(found.function.self.samples, 6u);
  EXPECT_EQ(found.function.total.samples, 8u);
  ASSERT_EQ(found.lines.size(), 2u);
  EXPECT_EQ(found.lines[0].self, (Weight{6 * test::kSamplePeriod, 6}));
  EXPECT_EQ(found.lines[0].total.samples, 6u);
  EXPECT_EQ(found.lines[1].self, (Weight{}));
  EXPECT_EQ(found.lines[1].total.samples, 3u);
  EXPECT_FALSE(annotate(select(profile), "main").is_python);
}

TEST(Annotate, AddressesHaveWhatIsInlinedToo) {
  const Profile profile = test::profile_of(kText);
  uint64_t self = 0;
  const Annotation found = annotate(select(profile), "work");
  for (const AnnotatedAddress& address : found.addresses) self += address.self.samples;
  EXPECT_EQ(self, 9u);
  EXPECT_EQ(annotate(select(profile), "inner").addresses.size(), 1u);
}

TEST(Annotate, NamesNeedNotBeWhole) {
  const Profile profile = test::profile_of(kText);
  const auto found = [&](const char* name) {
    return std::string(function_name(profile, annotate(select(profile), name).function.function));
  };
  EXPECT_EQ(found("hidden"), "(anonymous namespace)::hidden(int)");
  EXPECT_EQ(found("(anonymous namespace)::hidden"), "(anonymous namespace)::hidden(int)");
  EXPECT_EQ(found("ns::Box<a::b>::operator()"), "ns::Box<a::b>::operator()(int) const");
  EXPECT_EQ(found("Box"), "ns::Box<a::b>::operator()(int) const");
  EXPECT_EQ(found("n"), "inner") << "the one with the most self time of those that have it";
  EXPECT_GE(annotate(select(profile), "n").others.size(), 2u);
}

TEST(Annotate, TheNearestNameIsSuggested) {
  const Profile profile = test::profile_of(kText);
  try {
    annotate(select(profile), "hiden");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "no function of the recording is called 'hiden', did you mean 'hidden'?");
  }
}

}  // namespace
}  // namespace sampan::profile

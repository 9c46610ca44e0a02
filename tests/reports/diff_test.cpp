// The table of a comparison and its data. What is found is profile/diff_test.cpp's.
#include "reports/diff.h"

#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include "support/text_profile.h"

namespace sampan::reports {
namespace {

// A name that would move the cursor, break JSON, or a table.
constexpr const char* kRuns =
    "# process 1 /bin/app\n"
    "main;std::map<int, \"a&b\">::find(int\x1b[31m, char const*) 600\n"
    "main;same 400\n"
    "main;rare 2\n"
    "# process 2 /bin/app\n"
    "main;std::map<int, \"a&b\">::find(int\x1b[31m, char const*) 300\n"
    "main;same 400\n"
    "main;new\xff 300\n";

profile::Profile two_runs() {
  profile::Profile profile = test::profile_of(kRuns);
  profile.sides = {"before", "after"};
  for (profile::Thread& thread : profile.threads) thread.side = thread.process == 0 ? 0 : 1;
  return profile;
}

profile::Diff diff_of(const profile::View& view) {
  return profile::diff(view, {.of = profile::DiffOptions::Of::kTotal, .confidence = 0.9});
}

TEST(DiffPage, ListsWhatIsBeyondNoiseAndSumsUpTheRest) {
  const profile::Profile profile = two_runs();
  const profile::View view = select(profile);
  const std::string text = diff_page(view, diff_of(view), {.notes = {"a note"}});
  EXPECT_NE(text.find("A  before    4.008    1,002"), text.npos) << text;
  EXPECT_NE(text.find("note: a note"), text.npos);
  EXPECT_NE(text.find("by total time, % of all; beyond noise at 90 % confidence"), text.npos);
  EXPECT_NE(text.find(" 0.00  30.00  +30.00"), text.npos) << text;
  EXPECT_NE(text.find("too few samples"), text.npos) << text;
  EXPECT_EQ(text.find('\x1b'), text.npos);
  EXPECT_EQ(text.find("main "), text.npos) << "it has not changed";
}

TEST(DiffPage, SaysThatNothingChanged) {
  profile::Profile profile = test::profile_of(
      "# process 1 /bin/app\nmain;a 500\nmain;b 500\n# process 2 /bin/app\nmain;a 500\nmain;b "
      "500\n");
  profile.sides = {"x", "y"};
  profile.threads[1].side = 1;
  const profile::View view = select(profile);
  const std::string text = diff_page(view, profile::diff(view), {});
  EXPECT_NE(text.find("\n  none\n"), text.npos) << text;
  EXPECT_NE(text.find("2 functions without a change beyond noise"), text.npos) << text;
}

TEST(DiffJson, HasEveryFunctionThatWasCompared) {
  const profile::Profile profile = two_runs();
  const profile::View view = select(profile);
  rapidjson::Document document;
  document.Parse(diff_json(view, diff_of(view), {"a note"}).c_str());
  ASSERT_FALSE(document.HasParseError());
  EXPECT_STREQ(document["a"]["name"].GetString(), "before");
  EXPECT_EQ(document["b"]["samples"].GetInt(), 1000);
  EXPECT_STREQ(document["of"].GetString(), "total");
  EXPECT_EQ(document["too_few_samples"].GetInt(), 1);
  ASSERT_EQ(document["functions"].Size(), 4u);
  const rapidjson::Value& first = document["functions"][0];
  EXPECT_TRUE(first["beyond_noise"].GetBool());
  EXPECT_LE(first["low"].GetDouble(), first["change"].GetDouble());
  EXPECT_GE(first["high"].GetDouble(), first["change"].GetDouble());
  EXPECT_NEAR(std::abs(first["change"].GetDouble()), 0.3, 0.002);
}

}  // namespace
}  // namespace sampan::reports

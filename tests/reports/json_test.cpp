#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include "profile/view.h"
#include "reports/report.h"
#include "support/text_profile.h"

namespace sampan::reports {
namespace {

constexpr const char* kRecording = R"(
# process 100 /usr/bin/app
# thread 100 app
main@main.c:10:20;leaf@leaf.c:1 30
...;leaf@leaf.c:1 10
# thread 101 worker
start;rec;rec;rec 60
# process 200 /usr/bin/child
# thread 200 child
main 25
)";

rapidjson::Document parsed(const std::string& text) {
  rapidjson::Document document;
  document.Parse(text.c_str());
  EXPECT_FALSE(document.HasParseError()) << text;
  return document;
}

std::vector<std::string> keys(const rapidjson::Value& object) {
  std::vector<std::string> result;
  for (const auto& member : object.GetObject()) result.push_back(member.name.GetString());
  return result;
}

const rapidjson::Value& called(const rapidjson::Value& array, const char* name) {
  for (const rapidjson::Value& each : array.GetArray()) {
    if (std::string(each["name"].GetString()) == name) return each;
  }
  throw std::runtime_error(std::string("no ") + name);
}

class JsonReport : public testing::Test {
 protected:
  JsonReport() : profile_(test::profile_of(kRecording)) {
    profile_.session.command = {"app", "-x"};
    profile_.session.start_unix_ns = 1'700'000'000'123'000'000;
    profile_.processes[0].exit_status = 3;
    profile_.processes[1].exit_signal = 9;
    profile_.processes[0].cpu_ns = 500'000'000;
    profile_.threads[2].cpu_ns = 100'000'000;
  }
  profile::Profile profile_;
};

TEST_F(JsonReport, HasTheKeysThatAreDocumented) {
  const rapidjson::Document report = parsed(json(select(profile_)));
  EXPECT_EQ(keys(report), (std::vector<std::string>{"program",
                                                    "command",
                                                    "start_time",
                                                    "duration_s",
                                                    "clock",
                                                    "cpus",
                                                    "rate_hz",
                                                    "achieved_rate_hz",
                                                    "sampling_clocks",
                                                    "rates",
                                                    "cost",
                                                    "cpu_s",
                                                    "sampled_cpu_s",
                                                    "coverage",
                                                    "samples",
                                                    "complete_stacks",
                                                    "lost",
                                                    "notes",
                                                    "damage",
                                                    "processes",
                                                    "threads",
                                                    "functions"}));
  EXPECT_EQ(keys(report["processes"][0]),
            (std::vector<std::string>{"pid", "parent", "name", "cpu_s", "samples", "exit_status"}));
  EXPECT_EQ(keys(report["processes"][1]),
            (std::vector<std::string>{"pid", "parent", "name", "cpu_s", "samples", "exit_signal"}));
  EXPECT_EQ(keys(report["threads"][0]),
            (std::vector<std::string>{"pid", "tid", "name", "cpu_s", "sampled_cpu_s", "samples",
                                      "complete_stacks"}));
  EXPECT_EQ(keys(report["functions"][0]),
            (std::vector<std::string>{"name", "module", "file", "line", "self_s", "total_s",
                                      "self_samples", "total_samples"}));
}

TEST_F(JsonReport, SaysWhatWasMeasured) {
  const rapidjson::Document report = parsed(json(select(profile_)));
  EXPECT_STREQ(report["program"].GetString(), "app");
  EXPECT_STREQ(report["command"][1].GetString(), "-x");
  EXPECT_STREQ(report["start_time"].GetString(), "2023-11-14T22:13:20.123Z");
  EXPECT_STREQ(report["clock"].GetString(), "cpu");
  EXPECT_TRUE(report["cpus"].IsNull());
  EXPECT_EQ(report["rate_hz"].GetInt(), 250);
  // 125 samples of 4 ms; the kernel says 0.5 s and 0.1 s.
  EXPECT_EQ(report["samples"].GetInt(), 125);
  EXPECT_DOUBLE_EQ(report["sampled_cpu_s"].GetDouble(), 0.5);
  EXPECT_DOUBLE_EQ(report["achieved_rate_hz"].GetDouble(), 250);
  EXPECT_DOUBLE_EQ(report["cpu_s"].GetDouble(), 0.6);
  EXPECT_DOUBLE_EQ(report["coverage"].GetDouble(), 0.5 / 0.6);
  EXPECT_DOUBLE_EQ(report["complete_stacks"].GetDouble(), 115.0 / 125);
}

TEST_F(JsonReport, HasEveryThreadProcessAndFunction) {
  const rapidjson::Document report = parsed(json(select(profile_)));
  EXPECT_EQ(report["processes"].Size(), 2u);
  EXPECT_EQ(report["threads"].Size(), 3u);
  EXPECT_STREQ(report["threads"][0]["name"].GetString(), "worker");  // busiest first
  EXPECT_EQ(called(report["threads"], "app")["samples"].GetInt(), 40);
  EXPECT_DOUBLE_EQ(called(report["threads"], "app")["complete_stacks"].GetDouble(), 0.75);
  EXPECT_EQ(called(report["processes"], "app")["exit_status"].GetInt(), 3);
  EXPECT_EQ(called(report["processes"], "child")["exit_signal"].GetInt(), 9);

  const rapidjson::Value& recursive = called(report["functions"], "rec");
  EXPECT_EQ(recursive["self_samples"].GetInt(), 60);
  EXPECT_EQ(recursive["total_samples"].GetInt(), 60);
  const rapidjson::Value& leaf = called(report["functions"], "leaf");
  EXPECT_DOUBLE_EQ(leaf["self_s"].GetDouble(), 0.16);
  EXPECT_STREQ(leaf["file"].GetString(), "leaf.c");
  EXPECT_EQ(leaf["line"].GetInt(), 1);
  EXPECT_STREQ(leaf["module"].GetString(), "/usr/bin/app");
  const rapidjson::Value& start = called(report["functions"], "start");
  EXPECT_DOUBLE_EQ(start["self_s"].GetDouble(), 0);
  EXPECT_DOUBLE_EQ(start["total_s"].GetDouble(), 0.24);
}

TEST(JsonReportOfWallTime, HasWhatWasWaited) {
  const profile::Profile profile = test::profile_of(
      "main;work 25\nmain;~read pipe:[7] 50\n~runnable 5\n# thread 101 w\nmain;~futex 75\n");
  const rapidjson::Document report = parsed(json(select(profile)));
  EXPECT_STREQ(report["clock"].GetString(), "wall");
  EXPECT_DOUBLE_EQ(report["sampled_cpu_s"].GetDouble(), 0.1);
  EXPECT_DOUBLE_EQ(report["waiting_s"].GetDouble(), 0.5);
  EXPECT_DOUBLE_EQ(report["runnable_s"].GetDouble(), 0.02);
  EXPECT_EQ(report["samples"].GetInt(), 155);
  EXPECT_EQ(keys(report["threads"][0]),
            (std::vector<std::string>{"pid", "tid", "name", "cpu_s", "sampled_cpu_s", "waiting_s",
                                      "runnable_s", "samples", "complete_stacks"}));
  ASSERT_EQ(report["waits"].Size(), 3u);
  const rapidjson::Value& longest = report["waits"][0];
  EXPECT_EQ(keys(longest), (std::vector<std::string>{"pid", "tid", "thread", "call", "object",
                                                     "waiting_s", "samples"}));
  EXPECT_EQ(longest["tid"].GetInt(), 101);
  EXPECT_STREQ(longest["call"].GetString(), "futex");
  EXPECT_DOUBLE_EQ(longest["waiting_s"].GetDouble(), 0.3);
  EXPECT_STREQ(report["waits"][1]["object"].GetString(), "pipe:[7]");
  EXPECT_STREQ(report["waits"][2]["call"].GetString(), "runnable");
  EXPECT_EQ(called(report["functions"], "[read pipe:[7]]")["self_samples"].GetInt(), 50);
  EXPECT_EQ(called(report["functions"], "main")["total_samples"].GetInt(), 150);
}

TEST(JsonReportOfWallTime, HasTheFunctionThatHeldTheGil) {
  const profile::Profile profile = test::profile_of(
      "run;~GIL held by thread 7 w held in parse 50\nrun;~GIL held by thread 7 w 25\n");
  const rapidjson::Document report = parsed(json(select(profile)));
  ASSERT_EQ(report["waits"].Size(), 2u);
  EXPECT_STREQ(report["waits"][0]["object"].GetString(), "held by thread 7 w");
  EXPECT_STREQ(report["waits"][0]["held_in"].GetString(), "parse");
  EXPECT_STREQ(report["waits"][1]["held_in"].GetString(), "");
}

TEST_F(JsonReport, LostHasOnlyWhatWasLost) {
  EXPECT_TRUE(parsed(json(select(profile_)))["lost"].ObjectEmpty());
  profile_.losses[static_cast<size_t>(wire::Loss::kRingFull)] = 12;
  const rapidjson::Document report = parsed(json(select(profile_)));
  EXPECT_EQ(report["lost"].MemberCount(), 1u);
  EXPECT_EQ(report["lost"]["ring_full"].GetInt(), 12);
}

TEST_F(JsonReport, WhatIsNotKnownIsNull) {
  // A part of the time has no true CPU to be set beside it.
  const rapidjson::Document part = parsed(json(select(profile_, {.to_s = 0.05})));
  EXPECT_TRUE(part["cpu_s"].IsNull());
  EXPECT_TRUE(part["coverage"].IsNull());
  EXPECT_TRUE(part["threads"][0]["cpu_s"].IsNull());
  EXPECT_EQ(part["samples"].GetInt(), 36);

  const profile::Profile nothing = test::profile_of("");
  const rapidjson::Document empty = parsed(json(select(nothing)));
  EXPECT_EQ(empty["samples"].GetInt(), 0);
  EXPECT_TRUE(empty["complete_stacks"].IsNull());
}

TEST_F(JsonReport, IsJsonWhateverTheNames) {
  profile_.threads[0].name = "\"\\\n\xff\x01<&";
  profile_.session.command = {"\xc3"};
  const rapidjson::Document report = parsed(json(select(profile_)));
  EXPECT_STREQ(report["threads"][1]["name"].GetString(), "\"\\\n\xef\xbf\xbd\x01<&");
}

TEST_F(JsonReport, PassesOnNotesAndDamage) {
  profile_.damage = {"block at byte 9: checksum differs"};
  profile_.end->note = "not sampled";
  const rapidjson::Document report =
      parsed(json(select(profile_), {.notes = {"libz.so: no such file"}}));
  EXPECT_STREQ(report["damage"][0].GetString(), "block at byte 9: checksum differs");
  EXPECT_STREQ(report["notes"][0].GetString(), "not sampled");
  EXPECT_STREQ(report["notes"][1].GetString(), "libz.so: no such file");
}

}  // namespace
}  // namespace sampan::reports

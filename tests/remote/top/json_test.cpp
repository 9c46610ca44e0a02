#include "remote/top/render.h"

#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include "known.h"

namespace sampan::top {
namespace {

TEST(TopJson, HasThreadsFunctionsAndTree) {
  History history(5 * kNsPerSecond);
  see(&history);
  Status status;
  status.target = "app\033";
  status.rate_hz = 100;
  status.waits_known = true;
  rapidjson::Document json;
  json.Parse(sampan::top::json(history, {}, status).c_str());
  ASSERT_FALSE(json.HasParseError());
  EXPECT_EQ(json["rate_hz"].GetUint(), 100u);
  EXPECT_DOUBLE_EQ(json["duration_s"].GetDouble(), 1);
  EXPECT_DOUBLE_EQ(json["cpu_s"].GetDouble(), 0.6);
  const auto& thread = json["threads"][0];
  EXPECT_STREQ(thread["name"].GetString(), "worker-1");
  EXPECT_STREQ(thread["state"].GetString(), "R");
  EXPECT_DOUBLE_EQ(thread["cpu_s"].GetDouble(), 0.3);
  const auto& function = json["functions"][0];
  EXPECT_STREQ(function["name"].GetString(), "hash");
  EXPECT_DOUBLE_EQ(function["self_share"].GetDouble(), 0.5);
  EXPECT_DOUBLE_EQ(function["total_s_since_start"].GetDouble(), 0.4);
  EXPECT_STREQ(json["tree"][0]["name"].GetString(), "start");
  EXPECT_TRUE(json["lost"].GetObject().ObjectEmpty());
}

}  // namespace
}  // namespace sampan::top

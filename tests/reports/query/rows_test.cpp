#include "reports/query/rows.h"

#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include <functional>
#include <limits>
#include <string>

#include "base/error.h"

namespace sampan::reports {
namespace {

using Make = std::function<std::unique_ptr<Rows>(Write)>;

std::string written(const Make& make, bool empty = false) {
  std::string text;
  const std::unique_ptr<Rows> rows = make([&](std::string_view part) { text += part; });
  rows->begin({"name", "n", "share"});
  if (!empty) {
    rows->add({std::string_view("a,\"b\""), int64_t{-5}, 1.0 / 3});
    rows->add({std::string("\x1b[2J\xff"), Value(), std::numeric_limits<double>::infinity()});
  }
  rows->end();
  return text;
}

std::unique_ptr<Rows> table(Write write) {
  return table_rows({.width = 80}, std::move(write));
}

TEST(TableRows, AlignsNumbersToTheRight) {
  EXPECT_EQ(written(table),
            "  name    n         share\n"
            "  a,\"b\"  -5  0.3333333333\n"
            "  ?[2J\xEF\xBF\xBD               inf\n");
  EXPECT_EQ(written(table, true), "no rows\n");
}

TEST(CsvRows, AreExact) {
  EXPECT_EQ(written(csv_rows),
            "name,n,share\n\"a,\"\"b\"\"\",-5,0.3333333333333333\n\x1b[2J\xEF\xBF\xBD,,inf\n");
  EXPECT_EQ(written(csv_rows, true), "name,n,share\n");
}

TEST(JsonRows, AreObjects) {
  rapidjson::Document document;
  document.Parse(written(json_rows).c_str());
  ASSERT_FALSE(document.HasParseError());
  ASSERT_EQ(document.Size(), 2u);
  EXPECT_STREQ(document[0]["name"].GetString(), "a,\"b\"");
  EXPECT_EQ(document[0]["n"].GetInt64(), -5);
  EXPECT_EQ(document[0]["share"].GetDouble(), 1.0 / 3);
  EXPECT_TRUE(document[1]["n"].IsNull());
  EXPECT_TRUE(document[1]["share"].IsNull());
  EXPECT_EQ(written(json_rows, true), "[]\n");
  EXPECT_THROW(json_rows([](std::string_view) {})->begin({"id", "id"}), Error);
}

}  // namespace
}  // namespace sampan::reports

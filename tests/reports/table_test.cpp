#include "reports/table.h"

#include <gtest/gtest.h>

namespace sampan::reports {
namespace {

const Style kPlain(false);

Table people() {
  Table table({{.title = "n"}, {.title = "name", .left = true, .minimum = 5}, {.title = "s"}});
  table.add({"1", "Ada", "10.5"});
  table.add({"1,234", "Konrad Ernst Otto", "0.5"}, true);
  return table;
}

TEST(Table, AlignsNumbersToTheRightAndNamesToTheLeft) {
  EXPECT_EQ(people().text(80, kPlain),
            "      n  name                  s\n"
            "      1  Ada                10.5\n"
            "  1,234  Konrad Ernst Otto   0.5\n");
}

TEST(Table, NarrowsWhatGivesWayAndNothingElse) {
  EXPECT_EQ(people().text(24, kPlain),
            "      n  name          s\n"
            "      1  Ada        10.5\n"
            "  1,234  Konrad E…   0.5\n");
  EXPECT_EQ(people().text(1, kPlain),
            "      n  name      s\n"
            "      1  Ada    10.5\n"
            "  1,234  Konr…   0.5\n");
}

TEST(Table, TheWidestColumnGivesWayFirst) {
  Table table(
      {{.title = "a", .left = true, .minimum = 2}, {.title = "b", .left = true, .minimum = 2}});
  table.add({"123456", "1234567890"});
  EXPECT_EQ(table.text(16, kPlain), "  a       b\n  123456  12345…\n");
  EXPECT_EQ(table.text(14, kPlain), "  a      b\n  1234…  1234…\n");
}

TEST(Table, LeavesOutColumnsWithoutText) {
  Table table({{.title = "a"}, {.title = "b", .left = true, .minimum = 9}, {.title = "c"}});
  table.add({"1", "", "2"});
  EXPECT_EQ(table.text(80, kPlain), "  a  c\n  1  2\n");
}

TEST(Table, EmphasisComesWithColourOnly) {
  EXPECT_EQ(people().text(80, Style(true)),
            "\033[2m      n  name                  s\033[0m\n"
            "      1  Ada                10.5\n"
            "\033[1m  1,234  Konrad Ernst Otto   0.5\033[0m\n");
}

}  // namespace
}  // namespace sampan::reports

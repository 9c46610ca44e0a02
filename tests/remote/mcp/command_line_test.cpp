// The arguments of a call become options of the command, and nothing else.
#include "remote/mcp/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"

namespace sampan::mcp {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

CommandLine line(const std::string& tool, const std::string& arguments) {
  rapidjson::Document document;
  document.Parse(arguments.c_str());
  return command_line(*find_tool(tool), document);
}

std::vector<std::string> words(const std::string& tool, const std::string& arguments) {
  return line(tool, arguments).words;
}

std::string refused(const std::string& tool, const std::string& arguments) {
  try {
    std::string all;
    for (const std::string& word : words(tool, arguments)) all += word + " ";
    return "not refused: " + all;
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(CommandLine, IsThatOfTheTool) {
  EXPECT_THAT(words("list", "{}"), ElementsAre("list"));
  EXPECT_THAT(words("list", "null"), ElementsAre("list"));
  EXPECT_THAT(words("summary", "{}"), ElementsAre("report", "--summary", "-1"));
  EXPECT_THAT(words("diff", R"({"of":"total"})"), ElementsAre("diff", "-2", "-1", "--of=total"));
  EXPECT_THAT(words("hot_functions", R"({"limit":5,"thread":"a b","from":1.5,"recording":"-2"})"),
              ElementsAre("report", "-2", "--top=5", "--thread=a b", "--from=1.500000s"));
  EXPECT_THAT(words("lines", R"({"function":"f","instructions":true})"),
              ElementsAre("annotate", "--sources-below", ".", "f", "-1", "--asm"));
  EXPECT_THAT(words("lines", R"({"function":"f","instructions":false})"),
              ElementsAre("annotate", "--sources-below", ".", "f", "-1"));
}

TEST(CommandLine, EndsWithTheProgram) {
  const CommandLine record =
      line("record", R"({"command":["./app","--rate","-x"],"rate":99,"seconds":2})");
  EXPECT_THAT(record.words,
              ElementsAre("run", "--format", "none", "--rate=99", "--", "./app", "--rate", "-x"));
  EXPECT_EQ(record.longest_s, 2);
  EXPECT_EQ(line("record", R"({"command":["./app"]})").longest_s, 3600);
  EXPECT_THAT(words("attach", R"({"pid":7,"seconds":0.5})"),
              ElementsAre("attach", "--format", "none", "7", "--duration=0.500000s"));
}

TEST(CommandLine, NoValueBecomesAnOption) {
  EXPECT_THAT(refused("lines", R"({"function":"--source-path=/=x"})"), HasSubstr("function: "));
  EXPECT_THAT(words("callers", R"({"function":"--json"})"),
              ElementsAre("report", "--callers=--json", "-1"));
}

TEST(CommandLine, SaysWhichWordsNameRecordings) {
  EXPECT_THAT(line("list", "{}").recordings, ElementsAre());
  EXPECT_THAT(line("summary", "{}").recordings, ElementsAre(2));
  EXPECT_THAT(line("callers", R"({"function":"f","recording":"--json"})").recordings,
              ElementsAre(2));
  EXPECT_THAT(line("diff", R"({"after":"run"})").recordings, ElementsAre(1, 2));
}

TEST(CommandLine, ArgumentsAreChecked) {
  EXPECT_THAT(refused("callers", "{}"), HasSubstr("function: it is missing"));
  EXPECT_THAT(refused("callers", R"({"function":7})"), HasSubstr("a text is wanted"));
  EXPECT_THAT(refused("callers", R"({"function":"a\u0000b"})"), HasSubstr("zero"));
  EXPECT_THAT(refused("hot_functions", R"({"limit":0})"), HasSubstr("1 to 1000000"));
  EXPECT_THAT(refused("hot_functions", R"({"limit":-1})"), HasSubstr("1 to 1000000"));
  EXPECT_THAT(refused("hot_functions", R"({"limit":1.5})"), HasSubstr("1 to 1000000"));
  EXPECT_THAT(refused("hot_functions", R"({"by":"line|file"})"), HasSubstr("one of"));
  EXPECT_THAT(refused("hot_functions", R"({"by":""})"), HasSubstr("one of"));
  EXPECT_THAT(refused("hot_functions", R"({"from":-1})"), HasSubstr("0 to 86400"));
  EXPECT_THAT(refused("hot_functions", R"({"from":1e300})"), HasSubstr("0 to 86400"));
  EXPECT_THAT(refused("lines", R"({"function":"f","instructions":"yes"})"),
              HasSubstr("true or false"));
  EXPECT_THAT(refused("dump", R"({"pid":0})"), HasSubstr("pid: "));
  EXPECT_THAT(refused("dump", R"({"pid":4294967296})"), HasSubstr("pid: "));
  EXPECT_THAT(refused("record", R"({"command":"ls"})"), HasSubstr("an array of words"));
  EXPECT_THAT(refused("record", R"({"command":[]})"), HasSubstr("an array of words"));
  EXPECT_THAT(refused("list", R"({"x":1})"), HasSubstr("no such parameter: it has none"));
  EXPECT_THAT(refused("waits", R"({"x":1})"), HasSubstr("it has recording, thread, from, to"));
  EXPECT_THAT(refused("list", "[]"), HasSubstr("must be an object"));
}

}  // namespace
}  // namespace sampan::mcp

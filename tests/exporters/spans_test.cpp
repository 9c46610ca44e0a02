// Spans as lines of JSON.
#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "exporters/formats.h"
#include "support/scratch_directory.h"
#include "support/text_markers.h"
#include "support/text_profile.h"
#include "wire/loss.h"

namespace sampan::exporters {
namespace {

std::vector<std::string> lines_of(const std::string& markers,
                                  const profile::Selection& selection = {}) {
  profile::Profile profile = test::profile_of("f 1\n# thread 101 w\"1\nf 1\n");
  test::add_markers(&profile, markers);
  const test::ScratchDirectory directory;
  write_spans(select(profile, selection), directory.file("x"), 0);
  std::ifstream file(directory.file("x"));
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// "+a +b -b -a": begins and ends, by name.
std::string order_of(const std::string& markers) {
  std::string order;
  for (const std::string& line : lines_of(markers)) {
    rapidjson::Document document;
    document.Parse(line.c_str());
    EXPECT_FALSE(document.HasParseError()) << line;
    order += order.empty() ? "" : " ";
    order += document["event"].GetString() == std::string("begin") ? '+' : '-';
    order += document["name"].GetString();
  }
  return order;
}

TEST(SpanLines, SayAllOfASpan) {
  EXPECT_EQ(
      lines_of("span 100 1 2.5 outer id=255 to=101\n"
               "span 101 1.5 2.25 a\\s\"b\" id=7 parent=255 text=n\xff closed=1\n"
               "span 101 1.75 2 x id=8 parent=7\n"),
      (std::vector<std::string>{
          R"({"event":"begin","time":0.001000000,"trace":"00000000000000ff","parent":null,"id":"00000000000000ff","name":"outer","text":"","process":100,"process_name":"app","thread":100,"thread_name":"app"})",
          R"({"event":"begin","time":0.001500000,"trace":"00000000000000ff","parent":"00000000000000ff","id":"0000000000000007","name":"a \"b\"","text":"n)"
          "\xef\xbf\xbd"
          R"(","process":100,"process_name":"app","thread":101,"thread_name":"w\"1"})",
          R"({"event":"begin","time":0.001750000,"trace":"00000000000000ff","parent":"0000000000000007","id":"0000000000000008","name":"x","text":"","process":100,"process_name":"app","thread":101,"thread_name":"w\"1"})",
          R"({"event":"end","time":0.002000000,"duration":0.000250000,"closed_by":"program","trace":"00000000000000ff","parent":"0000000000000007","id":"0000000000000008","name":"x","text":"","process":100,"process_name":"app","thread":101,"thread_name":"w\"1"})",
          R"({"event":"end","time":0.002250000,"duration":0.000750000,"closed_by":"thread_end","trace":"00000000000000ff","parent":"00000000000000ff","id":"0000000000000007","name":"a \"b\"","text":"n)"
          "\xef\xbf\xbd"
          R"(","process":100,"process_name":"app","thread":101,"thread_name":"w\"1"})",
          R"({"event":"end","time":0.002500000,"duration":0.001500000,"closed_by":"program","trace":"00000000000000ff","parent":null,"id":"00000000000000ff","name":"outer","text":"","process":100,"process_name":"app","thread":101,"thread_name":"w\"1"})",
      }));
}

TEST(SpanLines, AreByTimeAndNested) {
  EXPECT_EQ(
      order_of("span 100 1 5 a id=1\nspan 100 1 5 b id=2 parent=1\nspan 100 2 2 c id=3 parent=2\n"
               "span 100 5 6 d id=4\n"),
      "+a +b +c -c -b -a +d -d");
  EXPECT_EQ(order_of("span 100 2 2 a id=1\nspan 100 2 2 b id=2 parent=1\nspan 100 1 2 z id=3\n"),
            "+z -z +a +b -b -a");
  EXPECT_EQ(order_of(""), "");
}

TEST(SpanLines, AreOfTheView) {
  EXPECT_EQ(lines_of("span 100 1 2 a\nspan 101 5 6 b\n", {.threads = {"app"}}).size(), 2u);
  EXPECT_EQ(lines_of("span 100 1 2 a\nspan 101 5 6 b\n", {.from_s = 0.003}).size(), 2u);
}

TEST(SpanLines, SayWhatWasLost) {
  profile::Profile profile = test::profile_of("f 1\n");
  profile.losses[static_cast<size_t>(wire::Loss::kMarkerDeep)] = 2;
  const test::ScratchDirectory directory;
  EXPECT_EQ(write_spans(select(profile), directory.file("x"), 0).notes,
            std::vector<std::string>{"lost: 2 spans dropped, nested too deep"});
}

}  // namespace
}  // namespace sampan::exporters

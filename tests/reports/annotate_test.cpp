#include "reports/annotate.h"

#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include "support/text_profile.h"

namespace sampan::reports {
namespace {

constexpr const char* kSource =
    "main@/src/a.c:1:3;work@/src/a.c:10:12 90\n"
    "main@/src/a.c:1:3;work@/src/a.c:10:14 5\n"
    "main@/src/a.c:1:3;work@/src/a.c:10:40 2\n"
    "main@/src/a.c:1:3;work@/src/a.c:10:14;leaf@/src/a.c:50 3\n";

class Annotation : public testing::Test {
 protected:
  Annotation() {
    source_.file = annotation_.lines.front().file;
    source_.path = "/elsewhere/a.c";
    for (int i = 1; i <= 60; ++i) source_.lines.push_back("\tline \"" + std::to_string(i) + "\"");
  }

  Annotated annotated(bool with_source) const {
    Source source = source_;
    if (!with_source) source.lines.clear(), source.path.clear();
    return {.view = view_,
            .annotation = annotation_,
            .sources = {source},
            .code = {},
            .notes = {"a note"}};
  }

  profile::Profile profile_ = test::profile_of(kSource);
  profile::View view_ = select(profile_);
  profile::Annotation annotation_ = annotate(view_, "work");
  Source source_;
};

TEST_F(Annotation, ShowsLinesWithWhatIsAroundThem) {
  const std::string page = annotation_page(annotated(true), {});
  EXPECT_NE(page.find(">      90   0.360  92.8   0.360     12          line \"12\"\n"), page.npos)
      << page;
  EXPECT_NE(page.find(" 5   0.020   5.2   0.032     14"), page.npos) << page;
  EXPECT_NE(page.find("   10          line \"10\"\n"), page.npos) << "the function's first line";
  EXPECT_NE(page.find("…\n"), page.npos) << "lines between 16 and 38 are left out";
  EXPECT_EQ(page.find("line \"30\""), page.npos);
  EXPECT_NE(page.find("a note"), page.npos);
}

TEST(AnnotationOfPython, HasTheColumnsOfLineProfiler) {
  const profile::Profile profile = test::profile_of(
      "main;pack@/srv/w.py:5:6@[python];deflate@@libz.so 70\n"
      "main;pack@/srv/w.py:5:7@[python];key@w.py:9@[python] 25\n"
      "main;pack@/srv/w.py:5:7@[python] 5\n");
  const profile::View view = select(profile);
  const profile::Annotation annotation = annotate(view, "pack");
  const Source source{
      .file = annotation.function.file,
      .path = "/srv/w.py",
      .lines = {"", "", "", "", "def pack(rows):", "    compress(rows)", "    rows.sort(key=key)"}};
  const std::string page = annotation_page(
      {.view = view, .annotation = annotation, .sources = {source}, .code = {}, .notes = {}}, {});
  const auto has = [&](std::string_view part) {
    EXPECT_NE(page.find(part), page.npos) << part << page;
  };
  has("  self      0.300 s, 75.0 % of all, 75 samples, with the C code that it calls\n");
  has("     hits    time     %    self  line\n");
  has("                                    5  def pack(rows):\n");
  has(">      70   0.280  70.0   0.280      6      compress(rows)\n");
  has(">      30   0.120  30.0   0.020      7      rows.sort(key=key)\n");
}

TEST_F(Annotation, WithoutSourceHasTheFiguresStill) {
  const std::string page = annotation_page(annotated(false), {});
  EXPECT_NE(page.find(">      90   0.360  92.8   0.360     12\n"), page.npos) << page;
}

TEST_F(Annotation, InstructionsHaveTheirLinesAbove) {
  Annotated with_code = annotated(true);
  with_code.code = {
      {.module = 0, .address = 0x1130, .text = "nop", .file = source_.file, .line = 12},
      {.module = 0,
       .address = 0x1131,
       .text = "divl %ecx",
       .file = source_.file,
       .line = 12,
       .self = {360'000'000, 90},
       .total = {360'000'000, 90}}};
  const std::string page = annotation_page(with_code, {});
  EXPECT_NE(page.find("a.c:12: line \"12\"\n"), page.npos) << page;
  EXPECT_NE(page.find(">      90   0.360 100.0   0.360       1131  divl %ecx\n"), page.npos)
      << page;
}

TEST_F(Annotation, AsData) {
  rapidjson::Document document;
  document.Parse(annotation_json(annotated(true)).c_str());
  ASSERT_FALSE(document.HasParseError());
  EXPECT_STREQ(document["name"].GetString(), "work");
  EXPECT_EQ(document["self_samples"].GetInt(), 97);
  EXPECT_EQ(document["total_samples"].GetInt(), 100);
  const rapidjson::Value& file = document["files"][0];
  EXPECT_STREQ(file["found"].GetString(), "/elsewhere/a.c");
  EXPECT_EQ(file["lines"].Size(), 3u);
  EXPECT_STREQ(file["lines"][0]["text"].GetString(), "\tline \"12\"");
  EXPECT_FALSE(document.HasMember("instructions"));
}

}  // namespace
}  // namespace sampan::reports

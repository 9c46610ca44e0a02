// The forms of the report of spans. What is in its rows is profile/spans_test.cpp's.
#include "reports/spans.h"

#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include "support/text_markers.h"
#include "support/text_profile.h"
#include "wire/loss.h"

namespace sampan::reports {
namespace {

// A name that would move the cursor, break JSON, or a row of CSV.
constexpr const char* kSpans =
    "span 100 0 100 request id=1 to=101\n"
    "span 101 10 50 a,\"b\"\x1b[31m\xff id=2 parent=1 closed=1\n"
    "span 101 20 30.5 parse id=3 parent=2\n"
    "span 101 32 32.00125 parse id=4 parent=2 closed=2\n";

profile::Profile example_with_spans() {
  profile::Profile profile = test::profile_of("f 60\n# thread 101 w\nf 60\n");
  test::add_markers(&profile, kSpans);
  profile.losses[static_cast<size_t>(wire::Loss::kMarkerFull)] = 1234;
  return profile;
}

TEST(SpansPage, HasARowPerName) {
  const profile::Profile profile = example_with_spans();
  const profile::View view = select(profile);
  const std::string text = spans_page({.view = view, .table = span_ranking(view)}, {});
  EXPECT_NE(text.find("4 spans, most total time first"), text.npos) << text;
  EXPECT_NE(
      text.find("   100ms   100ms   100ms   100ms   100ms   100ms   100ms      1        request"),
      text.npos)
      << text;
  EXPECT_NE(
      text.find("  10.5ms  10.5ms  5.25ms  1.25µs  1.25µs  10.5ms  10.5ms      2     1  parse"),
      text.npos)
      << text;
  EXPECT_NE(text.find("note: 1 span was open when the thread ended"), text.npos) << text;
  EXPECT_NE(text.find("note: 1 span was open when the process ended"), text.npos) << text;
  EXPECT_NE(text.find("note: lost: 1,234 markers dropped, lane full"), text.npos) << text;
  EXPECT_EQ(text.find('\x1b'), text.npos);
  const std::string top = spans_page({.view = view, .table = span_ranking(view)}, {.top = 1});
  EXPECT_NE(top.find("and 2 more rows"), top.npos) << top;
  EXPECT_EQ(top.find("parse"), top.npos) << top;
}

TEST(SpansPage, IndentsATree) {
  const profile::Profile profile = example_with_spans();
  const profile::View view = select(profile);
  const std::string text =
      spans_page({.view = view, .table = span_tree(view, span_parents(profile)), .tree = true}, {});
  EXPECT_NE(text.find("  request\n"), text.npos) << text;
  EXPECT_NE(text.find("      parse\n"), text.npos) << text;
}

TEST(SpansPage, ShowsOfATreeTheRowsWithMostTime) {
  profile::Profile profile = test::profile_of("f 1\n");
  test::add_markers(&profile,
                    "span 100 0 100 a id=1\nspan 100 0 30 b id=2 parent=1\n"
                    "span 100 30 80 c id=3 parent=1\nspan 100 0 20 d id=4 parent=2\n");
  const profile::View view = select(profile);
  const std::string text = spans_page(
      {.view = view, .table = span_tree(view, span_parents(profile)), .tree = true}, {.top = 2});
  EXPECT_NE(text.find("  a\n"), text.npos) << text;
  EXPECT_NE(text.find("    c\n"), text.npos) << text;
  EXPECT_EQ(text.find("    b\n"), text.npos) << text;
  EXPECT_NE(text.find("and 2 more rows"), text.npos) << text;
}

TEST(SpansPage, SaysThatThereAreNone) {
  const profile::Profile profile = test::profile_of("f 60\n");
  const profile::View view = select(profile);
  const std::string text = spans_page({.view = view, .table = span_ranking(view)}, {});
  EXPECT_NE(text.find("0 spans"), text.npos) << text;
  EXPECT_NE(text.find("none: the program marks no spans"), text.npos) << text;
}

SpanReport with_times(const profile::View& view) {
  SpanReport report{.view = view, .table = span_ranking(view)};
  profile::SampledSpans sampled(*view.profile);
  report.times = span_times(view, report.table, sampled);
  return report;
}

TEST(SpansPage, ShowsCpuBesideWall) {
  const profile::Profile profile = example_with_spans();
  const profile::View view = select(profile);
  const std::string text = spans_page(with_times(view), {});
  EXPECT_NE(text.find("wall"), text.npos);
  EXPECT_EQ(text.find("waiting  "), text.npos) << "there is none: " << text;
  EXPECT_NE(text.find("  100ms  40.0ms  5.66ms       -      1        request"), text.npos) << text;
  EXPECT_NE(text.find("--clock wall"), text.npos) << text;
}

TEST(SpansCsv, HasEveryFigure) {
  const profile::Profile profile = example_with_spans();
  const profile::View view = select(profile);
  const std::string text = spans_csv({.view = view, .table = span_ranking(view)});
  EXPECT_EQ(text,
            "span,count,total_s,max_s,average_s,min_s,p50_s,p95_s,p99_s,not_ended\n"
            "request,1,0.100000000,0.100000000,0.100000000,0.100000000,0.100000000,0.100000000,"
            "0.100000000,0\n"
            "\"a,\"\"b\"\"\x1b[31m\xef\xbf\xbd\",1,0.040000000,0.040000000,0.040000000,0.040000000,"
            "0.040000000,0.040000000,0.040000000,1\n"
            "parse,2,0.010501250,0.010500000,0.005250625,0.000001250,0.000001250,0.010500000,"
            "0.010500000,1\n");
  const std::string tree =
      spans_csv({.view = view, .table = span_tree(view, span_parents(profile)), .tree = true});
  EXPECT_NE(tree.find("\n0,,0,request,1,"), tree.npos) << tree;
  EXPECT_NE(tree.find("\n2,1,2,parse,2,"), tree.npos) << tree;
}

TEST(SpansJson, HasEveryFigure) {
  const profile::Profile profile = example_with_spans();
  const profile::View view = select(profile);
  rapidjson::Document document;
  document.Parse(spans_json(with_times(view), {"a note"}).c_str());
  ASSERT_FALSE(document.HasParseError());
  EXPECT_FALSE(document["tree"].GetBool());
  EXPECT_EQ(document["notes"].Size(), 5u);
  ASSERT_EQ(document["spans"].Size(), 3u);
  const rapidjson::Value& parse = document["spans"][2];
  EXPECT_STREQ(parse["name"].GetString(), "parse");
  EXPECT_EQ(parse["count"].GetInt(), 2);
  EXPECT_DOUBLE_EQ(parse["max_s"].GetDouble(), 0.0105);
  EXPECT_EQ(parse["closed_by_process_end"].GetInt(), 1);
  EXPECT_NEAR(parse["cpu"]["total_s"].GetDouble(), 0.016, 1e-9);
  EXPECT_TRUE(document["spans"][0]["across_threads"].GetBool());
}

// What is found is profile/span_explain_test.cpp's.
profile::SpanExplanation explanation_example() {
  profile::SpanExplanation explanation;
  explanation.name = 1;
  explanation.slow_from_ns = 21'900'000;
  explanation.slow = {.spans = 10, .samples = 55, .wall_ns = 22e6, .cpu_ns = 2e6, .waiting_ns = 0};
  explanation.others = {.spans = 990, .samples = 500, .wall_ns = 2e6, .cpu_ns = 2e6};
  explanation.functions = 12;
  explanation.causes = {
      {.function = 0, .slow_ns = 20e6, .other_ns = 1e3, .slow_spans = 9, .p = 1e-9},
      {.function = 1, .is_wait = true, .slow_ns = 19e6, .slow_spans = 8, .p = 0.0123}};
  return explanation;
}

profile::Profile explained() {
  profile::Profile profile = test::profile_of("lock<\"a\">\x1b 1\nmain;~futex 1\n");
  test::add_markers(&profile, "span 100 0 1 re\"quest\n");
  return profile;
}

TEST(Explanation, SaysWhatTheSlowDoMoreOf) {
  const profile::Profile profile = explained();
  const std::string text =
      explanation_page(select(profile), explanation_example(), {.notes = {"a note"}});
  EXPECT_NE(text.find("The slowest 10 of 1,000 spans 're\"quest', which took 21.9ms and more"),
            text.npos)
      << text;
  EXPECT_NE(text.find("20.0ms  1.00µs     9/10  < 0.0001  lock?"), text.npos) << text;
  EXPECT_NE(text.find("8/10    0.0123"), text.npos) << text;
  EXPECT_NE(text.find("12 functions compared"), text.npos) << text;
  EXPECT_NE(text.find("note: a note"), text.npos) << text;
}

TEST(Explanation, SaysWhatElseItMayBe) {
  const profile::Profile profile = test::profile_of("f 1\n");
  profile::SpanExplanation explanation = explanation_example();
  explanation.name = 0;
  explanation.causes.clear();
  std::string text = explanation_page(select(profile), explanation, {});
  EXPECT_NE(text.find("  nothing: "), text.npos) << text;
  EXPECT_NE(text.find("they take 20.0ms longer than the others; for 20.0ms of it they were off"),
            text.npos)
      << text;
  explanation.slow.runnable_ns = 20e6;
  text = explanation_page(select(profile), explanation, {});
  EXPECT_NE(text.find("for 20.0ms of it they waited for"), text.npos) << text;
  EXPECT_EQ(text.find("off the CPU:"), text.npos) << text;
  explanation.across = true;
  text = explanation_page(select(profile), explanation, {});
  EXPECT_NE(text.find("these spans go across threads"), text.npos) << text;
  explanation.too_few = "there are only 3 of them";
  text = explanation_page(select(profile), explanation, {});
  EXPECT_NE(text.find("there are only 3 of them"), text.npos) << text;
  EXPECT_EQ(text.find("nothing:"), text.npos) << text;
}

TEST(Explanation, IsDataToo) {
  const profile::Profile profile = explained();
  rapidjson::Document document;
  document.Parse(explanation_json(select(profile), explanation_example(), {"a note"}).c_str());
  ASSERT_FALSE(document.HasParseError());
  EXPECT_STREQ(document["name"].GetString(), "re\"quest");
  EXPECT_TRUE(document["enough"].GetBool());
  EXPECT_EQ(document["slow"]["spans"].GetInt(), 10);
  EXPECT_DOUBLE_EQ(document["slow"]["wall_s"].GetDouble(), 0.022);
  ASSERT_EQ(document["causes"].Size(), 2u);
  EXPECT_EQ(document["causes"][0]["in_slow"].GetInt(), 9);
  EXPECT_TRUE(document["causes"][1]["wait"].GetBool());
  EXPECT_DOUBLE_EQ(document["causes"][1]["p"].GetDouble(), 0.0123);
}

}  // namespace
}  // namespace sampan::reports

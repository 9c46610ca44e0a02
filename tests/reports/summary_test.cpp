// sampan report --summary: shares with intervals that hold, one function of each chain, and what to ask next.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "profile/view.h"
#include "reports/report.h"
#include "support/text_profile.h"

namespace sampan::reports {
namespace {

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != text.npos;
}

std::string summary_of(const std::string& stacks, const PageOptions& options = {.width = 100}) {
  return summary(select(test::profile_of(stacks)), options);
}

constexpr const char* kService =
    "# process 1 /bin/app\n"
    "# thread 1 app\n"
    "_start;main@main.c:1;serve@serve.c:2;parse@parse.c:3:4 500\n"
    "_start;main@main.c:1;serve@serve.c:2;render@render.c:9;copy@copy.c:1 300\n"
    "_start;main@main.c:1;idle@main.c:5 200\n";

// 500 of 1,000 independent samples: ± 1.96 √(0.5 · 0.5 / 1000) = 3.1 points, and a little for the sample that it adds.
// The text has each stack's samples in a row, which is one burst each, so the interval is wider.
TEST(Summary, GivesSharesWithTheirSamplingError) {
  std::string turns = "# process 1 /bin/app\n# thread 1 app\n";
  for (int i = 0; i < 500; ++i) turns += "main;parse@parse.c:3 1\nmain;render 1\n";
  const std::string text = summary_of(turns);
  EXPECT_TRUE(has(text, "50.0 ± 3.1  50.0 ± 3.1  parse")) << text;
  EXPECT_FALSE(has(summary_of(kService), "50.0 ± 3.1")) << summary_of(kService);
}

TEST(Summary, NamesOneFunctionOfEachChainOfCalls) {
  const std::string text = summary_of(kService);
  const std::string total = text.substr(text.find("most total time first"));
  EXPECT_TRUE(has(total, "80.0 ± ")) << text;
  EXPECT_TRUE(has(total, "serve")) << text;
  EXPECT_FALSE(has(total, "_start")) << text << "\nis in all stacks";
  // One of render and copy is enough, and copy is in the first table.
  EXPECT_FALSE(has(total, "render")) << text;
}

TEST(Summary, PrefersPythonFunctionsOfAChain) {
  const std::string text = summary_of(
      "# process 1 /usr/bin/python3\n# thread 1 python3\n"
      "main@main.c:1;work@w.py:3@[python];deflate@deflate.c:1;copy@copy.c:1 300\n"
      "main@main.c:1;work@w.py:3@[python];deflate@deflate.c:1;match@deflate.c:9 300\n"
      "main@main.c:1;other@w.py:9@[python] 600\n");
  const std::string total = text.substr(text.find("most total time first"));
  EXPECT_TRUE(has(total, "50.0 ± ")) << text;
  EXPECT_TRUE(has(total, "work")) << text;
  EXPECT_FALSE(has(total, "deflate")) << text;
}

TEST(Summary, SaysWhatToAskNext) {
  const std::string text = summary_of(kService, {.width = 100, .recording = "run/1"});
  EXPECT_TRUE(has(text, "sampan report --callers 'parse' run/1\n")) << text;
  EXPECT_TRUE(has(text, "sampan annotate 'parse' run/1\n")) << text;
  EXPECT_TRUE(has(text, "sampan report --tree run/1\n")) << text;
  EXPECT_FALSE(has(text, "--by thread")) << "it has one thread";
  EXPECT_FALSE(has(text, "the samples are few")) << text;
}

TEST(Summary, SaysThatSamplesAreFewAndNamesLack) {
  const std::string text = summary_of(
      "# process 1 /bin/app\n# thread 1 app\nmain;[libz.so.1+0x1234]@@/lib/libz.so.1 40\n");
  EXPECT_TRUE(has(text, "the samples are few")) << text;
  EXPECT_TRUE(has(text, "100 % of the CPU is in functions without a name")) << text;
}

TEST(Summary, QuotesNamesForTheShell) {
  const std::string text =
      summary_of("# process 1 /bin/app\n# thread 1 app\noperator'$(rm x)@a.c:1:2 400\n");
  EXPECT_TRUE(has(text, "--callers 'operator'\\''$(rm x)'")) << text;
}

TEST(Summary, IsShort) {
  std::string many = "# process 1 /bin/app\n";
  for (int tid = 1; tid <= 300; ++tid) {
    many += fmt::format("# thread {0} {1}\n", tid, std::string(200, 'n'));
    for (int i = 0; i < 20; ++i) {
      many +=
          fmt::format("main;{}_{}@{}.c:1:2 3\n", std::string(300, 'f'), i, std::string(300, 'p'));
    }
  }
  const std::string text = summary_of(many, {.width = kUncut});
  EXPECT_LT(text.size(), 5200u);
  EXPECT_TRUE(has(text, "sampan report --tree")) << "the end is never cut";
}

TEST(Summary, NeedsNoSamples) {
  const std::string text = summary_of("# process 1 /bin/app\n# thread 1 app\n");
  EXPECT_TRUE(has(text, "samples   none")) << text;
}

}  // namespace
}  // namespace sampan::reports

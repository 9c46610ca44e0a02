// callgrind, text in and text out. What viewers make of it is in viewers_test.py.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "exporters/call_graph.h"
#include "exporters/formats.h"
#include "support/scratch_directory.h"
#include "support/text_profile.h"

namespace sampan::exporters {
namespace {

// The functions: what is below the header.
std::string callgrind(const profile::Profile& profile) {
  const test::ScratchDirectory directory;
  write_callgrind(select(profile), directory.file("x"), 0);
  std::ifstream file(directory.file("x"));
  const std::string text(std::istreambuf_iterator<char>(file), {});
  return text.substr(text.find("summary: "));
}

TEST(Callgrind, HasLinesAndCalls) {
  EXPECT_EQ(callgrind(test::profile_of("main@a.c:1:5;f@f.h:2:3 3\n"
                                       "main@a.c:1:6=>f@f.h:2:4 1\n")),
            "summary: 16000000 4\n\n"
            "ob=(1) /bin/app\nfl=(1) ???\nfn=(1) <app>\n"
            "cob=(1)\ncfi=(2) a.c\ncfn=(2) main\ncalls=4 1\n0 16000000 4\n\n"
            "ob=(1)\nfl=(2)\nfn=(2)\n"
            "cob=(1)\ncfi=(3) f.h\ncfn=(3) f\ncalls=3 2\n5 12000000 3\n"
            "cob=(1)\ncfi=(3)\ncfn=(3)\ncalls=1 2\n6 4000000 1\n\n"
            "ob=(1)\nfl=(3)\nfn=(3)\n3 12000000 3\n4 4000000 1\n");
}

TEST(Callgrind, NamesTheFileOfIncludedLines) {
  profile::Profile profile = test::profile_of("main@a.c:1:5 1\nmain@a.c:1:6 2\n");
  profile.lines[0].file = profile.strings.intern("table.inc");
  const std::string text = callgrind(profile);
  EXPECT_NE(text.find("fl=(2)\nfn=(2)\n6 8000000 2\nfi=(3) table.inc\n5 4000000 1\n"),
            std::string::npos)
      << text;
}

TEST(Callgrind, KeepsHostileNamesOnTheirLine) {
  profile::Profile profile = test::profile_of("f 1\n");
  profile.functions[0].name = profile.strings.intern("(7) <\"a, b\">\nfn=x \xff");
  const std::string text = callgrind(profile);
  EXPECT_NE(text.find("\ncfn=(2) (7) <\"a, b\"> fn=x \xef\xbf\xbd\n"), std::string::npos) << text;
}

// What calls to a function cost adds up to its total, which counts a sample once.
TEST(CallGraph, CountsRecursionOnce) {
  const profile::Profile profile =
      test::profile_of("main;f;g;f;h 3\nmain;f;f 2\n# thread 101 w\nmain;f 1\n");
  const profile::View view = select(profile);
  const CallGraph graph(view, by_thread_and_stack(view));
  std::map<std::string, uint64_t> self, total, count;
  for (const CallGraph::Site& site : graph.sites()) {
    self[graph.functions()[site.function].name] += site.self.samples;
  }
  for (const CallGraph::Call& call : graph.calls()) {
    total[graph.functions()[call.callee].name] += call.cost.samples;
    count[graph.functions()[call.callee].name] += call.count;
  }
  using Counts = std::map<std::string, uint64_t>;
  EXPECT_EQ(self, (Counts{{"<app>", 0}, {"<w>", 0}, {"main", 0}, {"f", 3}, {"g", 0}, {"h", 3}}));
  EXPECT_EQ(total, (Counts{{"main", 6}, {"f", 6}, {"g", 3}, {"h", 3}}));
  EXPECT_EQ(count, (Counts{{"main", 6}, {"f", 11}, {"g", 3}, {"h", 3}}));
}

}  // namespace
}  // namespace sampan::exporters

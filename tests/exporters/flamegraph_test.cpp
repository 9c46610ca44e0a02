// What of a flame graph is drawn, and what is left out. What one can do with it:
// flamegraph_test.js.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "exporters/formats.h"
#include "support/scratch_directory.h"
#include "support/text_profile.h"

namespace sampan::exporters {
namespace {

struct Svg {
  std::string text;
  std::vector<std::string> notes;

  size_t count(std::string_view part) const {
    size_t count = 0;
    for (size_t i = 0; (i = text.find(part, i)) != std::string::npos; ++i) ++count;
    return count;
  }
  size_t frames() const { return count("<g class=\"frame\"><title>"); }
};

Svg flamegraph(const profile::Profile& profile, uint64_t max_size = 0) {
  const test::ScratchDirectory directory;
  const Outcome outcome = write_flamegraph(select(profile), directory.file("x"), max_size);
  std::ifstream file(directory.file("x"));
  return {{std::istreambuf_iterator<char>(file), {}}, outcome.notes};
}

TEST(Flamegraph, DrawsAFramePerPathOfFunctions) {
  const Svg svg = flamegraph(test::profile_of("main;work 3\nmain;~read pipe:[7] 1\n"));
  EXPECT_EQ(svg.frames(), 5u);  // all, the thread, main, work, the wait
  EXPECT_TRUE(svg.notes.empty());
  EXPECT_NE(svg.text.find("<title>work\napp\n12 ms, 75.00 %, 3 samples; self 12 ms</title>"
                          "<rect x=\"0.000\" y=\"58\" width=\"900.000\""),
            std::string::npos)
      << svg.text;
  EXPECT_NE(svg.text.find("width=\"300.000\" height=\"16\" fill=\"#b5b5b5\""), std::string::npos);
}

TEST(Flamegraph, EscapesWhatXmlHasNoPlaceFor) {
  profile::Profile profile = test::profile_of("f 1\n# thread 101 <b>&]]>\ng 1\n");
  profile.functions[0].name = profile.strings.intern("a<\"b\">&\x01\x1b\xff\xef\xbf\xbf]]>");
  const Svg svg = flamegraph(profile);
  EXPECT_NE(svg.text.find("<title>a&lt;&quot;b&quot;&gt;&amp;  \xef\xbf\xbd ]]&gt;\n"),
            std::string::npos);
  EXPECT_NE(svg.text.find("<title>&lt;b&gt;&amp;]]&gt;\n"), std::string::npos);
  EXPECT_EQ(svg.count("]]>"), 1u);  // the end of the script
}

TEST(Flamegraph, LeavesOutAndCountsWhatCannotBeSeen) {
  // One of 20,001 samples has less than 0.1 of 1200 pixels: "rare", "a" and "b" below it.
  const Svg svg = flamegraph(test::profile_of("main;work 20000\nmain;rare;a;b 1\n"));
  EXPECT_EQ(svg.frames(), 4u);
  ASSERT_EQ(svg.notes.size(), 1u);
  EXPECT_EQ(svg.notes[0].find("3 frames narrower than 0.1 pixels are not drawn."), 0u)
      << svg.notes[0];
  EXPECT_NE(svg.text.find("; 3 frames narrower than 0.1 pixels are not drawn</title>"),
            std::string::npos);
}

TEST(Flamegraph, IsAsLargeAsItMayBe) {
  std::string text;
  for (int i = 0; i < 400; ++i) text += "main;f" + std::to_string(i) + ";g;h 1\n";
  const profile::Profile profile = test::profile_of(text + "main;large 100\n");
  const Svg whole = flamegraph(profile);
  EXPECT_EQ(whole.frames(), 3u + 3 * 400 + 1);
  const Svg small = flamegraph(profile, 50'000);
  EXPECT_LE(small.text.size(), 50'000u);
  EXPECT_EQ(small.frames(), 4u);
  EXPECT_EQ(small.notes.size(), 1u);
}

TEST(Flamegraph, LeavesOutThreadsThatOnlyWaitAndSaysSo) {
  const Svg svg =
      flamegraph(test::profile_of("main;work 3\n# thread 101 sleeper\nstart;~futex:[7] 50\n"));
  EXPECT_EQ(svg.frames(), 4u);
  EXPECT_EQ(svg.text.find("sleeper"), std::string::npos);
  ASSERT_EQ(svg.notes.size(), 1u);
  EXPECT_EQ(svg.notes[0], "1 thread that only waits is not drawn. --thread shows one");
  const Svg only = flamegraph(test::profile_of("main;~futex:[7] 50\n"));
  EXPECT_EQ(only.frames(), 4u);
  EXPECT_TRUE(only.notes.empty());
}

TEST(Flamegraph, OfNothing) {
  const Svg svg = flamegraph(test::profile_of("# process 1 /a\n# thread 1 a\n"));
  EXPECT_EQ(svg.frames(), 1u);
  EXPECT_NE(svg.text.find("0.00 %"), std::string::npos);
}

}  // namespace
}  // namespace sampan::exporters

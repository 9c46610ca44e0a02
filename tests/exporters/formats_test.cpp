// Text in, text out: folded stacks, and the parts of the binary formats that have bytes of their
// own. What viewers make of the files is in viewers_test.py.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "base/utf8.h"
#include "exporters/formats.h"
#include "exporters/mapping_ranges.h"
#include "exporters/marshal_writer.h"
#include "support/scratch_directory.h"
#include "support/text_profile.h"

namespace sampan::exporters {
namespace {

std::string folded(const profile::View& view) {
  const test::ScratchDirectory directory;
  write_folded(view, directory.file("x"), 0);
  std::ifstream file(directory.file("x"));
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Folded, HasALinePerPathOfFunctions) {
  const profile::Profile profile = test::profile_of(
      "main@a.c:1:5;work 3\n"
      "main@a.c:1:9;work 2\n"  // another call of the same function
      "main@a.c:1:5 1\n"
      "main@a.c:1:5;outer=>inner 1\n"
      "...;lost 2\n"
      " 4\n"
      "# thread 101 w;1\nmain@a.c:1:5 1\n# thread 102 idle\n");
  EXPECT_EQ(folded(select(profile)),
            "app;main 1\n"
            "app;main;work 5\n"
            "app;main;outer;inner 1\n"
            "app;lost 2\n"
            "app;[unknown] 4\n"
            "w:1;main 1\n");
}

TEST(Folded, KeepsNamesOnOneLineAndInOneFrame) {
  profile::Profile profile = test::profile_of("f 1\ng 1\n");
  profile.functions[0].name = profile.strings.intern("<[u8; 4] as Trait>::f\nx");
  profile.functions[1].name = profile.strings.intern("bad\xff, <a & \"b\">");
  EXPECT_EQ(folded(select(profile)),
            "app;<[u8: 4] as Trait>::f x 1\napp;bad\xef\xbf\xbd, <a & \"b\"> 1\n");
}

TEST(Folded, CountsWallTimeAtTheRate) {
  profile::Profile profile = test::profile_of("main;work 3\nmain;~futex 1\n~runnable 1\n");
  profile.samples[3].weight_ns = 1'001'000'000;  // one sample of a long wait, at 250 Hz
  profile.samples[4].weight_ns = 1'000;
  EXPECT_EQ(folded(select(profile)),
            "app;main;work 3\napp;main;[futex] 250\napp;[waiting for a CPU] 1\n");
}

TEST(Folded, CountsCpuTimeAtTheRate) {
  profile::Profile profile = test::profile_of("main;pushed_off 2\nmain;running 3\n");
  profile.samples[0].weight_ns = 20'000'000;  // five periods without a sample of their own
  EXPECT_EQ(folded(select(profile)), "app;main;pushed_off 6\napp;main;running 3\n");
}

TEST(Folded, OfSomeThreads) {
  const profile::Profile profile =
      test::profile_of("main 1\n# thread 101 w\nf 2\n# thread 102 w\ng 3\n");
  profile::Selection selection;
  selection.threads = {"102"};
  EXPECT_EQ(folded(select(profile, selection)), "w;g 3\n");
}

TEST(Marshal, IsWhatCPythonWrites) {
  // marshal.dumps({("a", 1, "b"): (2**31 - 1, 2**31, 0.5)}), but for the flags of references.
  MarshalWriter writer;
  writer.dict();
  writer.remember_tuple(3);
  writer.string("a");
  writer.integer(1);
  writer.string("b");
  writer.tuple(3);
  writer.integer((1u << 31) - 1);
  writer.integer(1u << 31);
  writer.real(0.5);
  writer.end_dict();
  writer.recall(0);
  static constexpr char kExpected[] =
      "{\xa9\x03u\x01\0\0\0ai\x01\0\0\0u\x01\0\0\0b)\x03i\xff\xff\xff\x7f"
      "l\x03\0\0\0\0\0\0\0\x02\0g\0\0\0\0\0\0\xe0?0r\0\0\0\0";
  EXPECT_EQ(writer.bytes(), std::string(kExpected, sizeof(kExpected) - 1));
}

TEST(MappingRanges, DoNotOverlapAndHoldTheirLocations) {
  profile::Profile profile = test::profile_of("main;f@@/lib/a.so;g@@/lib/b.so;h@@/lib/c.so 1\n");
  profile.modules[1].svma_begin = profile.modules[1].svma_end = 0;  // not known
  profile.modules[2].svma_end = UINT64_MAX;                         // damaged
  profile.modules[3].svma_begin = 0x400000;                         // not position-independent
  profile.modules[3].svma_end = 0x500000;
  profile.locations[3].address = 0x400123;
  const std::vector<MappingRange> ranges = mapping_ranges(profile);
  ASSERT_EQ(ranges.size(), 4u);
  for (size_t i = 0; i < ranges.size(); ++i) {
    const uint64_t address = ranges[i].base + profile.locations[i].address;
    EXPECT_LE(ranges[i].begin, address) << i;
    EXPECT_LT(address, ranges[i].end) << i;
    EXPECT_EQ(address % 0x1000, profile.locations[i].address % 0x1000) << i;
    if (i > 0) {
      EXPECT_LT(ranges[i - 1].end, ranges[i].begin) << i;
    }
  }
}

TEST(Utf8, ReplacesWhatIsNotWellFormed) {
  EXPECT_EQ(valid_utf8("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"),
            "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
  const std::string replacement = "\xef\xbf\xbd";
  EXPECT_EQ(valid_utf8("a\xc3"), "a" + replacement);             // cut off
  EXPECT_EQ(valid_utf8("\xc0\x80"), replacement + replacement);  // overlong
  EXPECT_EQ(valid_utf8("\xe0\x80\x80"), replacement + replacement + replacement);
  EXPECT_EQ(valid_utf8("\xed\xa0\x80"), replacement + replacement + replacement);  // surrogate
  EXPECT_EQ(valid_utf8("\xf4\x90\x80\x80").size(), 4 * replacement.size());        // above U+10FFFF
  EXPECT_EQ(valid_utf8("\xe2\x82x"), replacement + replacement + "x");
}

}  // namespace
}  // namespace sampan::exporters

#include "exporters/fitting_markers.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "exporters/exporter.h"
#include "support/scratch_directory.h"
#include "support/text_markers.h"
#include "support/text_profile.h"

namespace sampan::exporters {
namespace {

using Lines = std::vector<std::string>;
using Rows = std::vector<uint32_t>;

constexpr MarkerBytes kTen = {.span = 10, .event = 10, .counter = 10, .section = 10};

profile::Profile marked() {
  profile::Profile profile = test::profile_of("main 10\n");
  std::string text;
  for (int i = 0; i < 10; ++i) text += fmt::format("event 100 {} tick\n", i);
  text += "span 100 1 2 a\nspan 100 3 6 b\nspan 100 7 9 c\ncounter 100 4 queue 3\n";
  test::add_markers(&profile, text);
  return profile;
}

TEST(FittingMarkers, AreAllWhereThereIsRoom) {
  const profile::Profile profile = marked();
  const FittingMarkers fitting = fitting_markers(select(profile), 140, kTen);
  EXPECT_EQ(fitting.rows.spans.size(), 3u);
  EXPECT_EQ(fitting.rows.events.size(), 10u);
  EXPECT_EQ(fitting.notes, Lines());
}

TEST(FittingMarkers, AreTheLongestSpansAndSomeOfTheEvents) {
  const profile::Profile profile = marked();
  const FittingMarkers fitting = fitting_markers(select(profile), 60, kTen);
  // The counter needs 10, what is left is for two.
  EXPECT_EQ(fitting.rows.counters.size(), 1u);
  EXPECT_EQ(fitting.rows.spans, (Rows{1, 2}));
  EXPECT_EQ(fitting.rows.events, (Rows{0, 4, 8}));
  EXPECT_EQ(fitting.notes, (Lines{"1 of 3 spans, the shortest (up to 1.000 ms), are left out",
                                  "7 of 10 events are left out: one in 4 is there"}));
}

TEST(FittingMarkers, AreNoneWithoutRoom) {
  const profile::Profile profile = marked();
  const FittingMarkers fitting = fitting_markers(select(profile), 0, kTen);
  EXPECT_TRUE(fitting.rows.spans.empty());
  EXPECT_TRUE(fitting.rows.events.empty());
  EXPECT_EQ(fitting.notes.size(), 3u);
}

TEST(FittingMarkers, CountWhatTheySay) {
  const profile::Profile profile = marked();
  const MarkerBytes twice = {.span = 8, .event = 6, .counter = 5, .section = 10, .names = 2};
  EXPECT_TRUE(fitting_markers(select(profile), 140, twice).notes.empty());
  EXPECT_EQ(fitting_markers(select(profile), 139, twice).notes.size(), 1u);
}

// Names and texts that JSON has to escape are longer in a file than they are.
TEST(FittingMarkers, KeepFilesWithinTheirSize) {
  profile::Profile profile = test::profile_of("main 1000\n");
  std::string text;
  for (int i = 0; i < 20'000; ++i) {
    text += fmt::format("span 100 {} {} a\"<&\\ text=\"{}\"\n", i * 0.1, i * 0.1 + 0.09, i);
    text += fmt::format("counter 100 {} n {}\nevent 100 {} tick\n", i * 0.1, i, i * 0.1);
  }
  test::add_markers(&profile, text);
  const test::ScratchDirectory directory;
  for (const char* name : {"trace", "html", "firefox"}) {
    constexpr uint64_t kMost = 600'000;
    const Written written =
        write_file(select(profile), format(name), directory.file(name), {.max_size = kMost});
    EXPECT_LE(std::filesystem::file_size(written.path), kMost) << name;
    EXPECT_FALSE(written.notes.empty()) << name;
  }
}

}  // namespace
}  // namespace sampan::exporters

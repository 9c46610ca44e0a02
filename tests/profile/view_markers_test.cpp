#include "profile/markers.h"

#include <gtest/gtest.h>

#include <string>

#include "support/text_markers.h"
#include "support/text_profile.h"

namespace sampan::profile {
namespace {

Profile marked() {
  Profile profile = test::profile_of(
      "# process 1 /bin/a\n# thread 1 a\nf 9\n# thread 2 b\nf 9\n# process 3 /bin/c\n"
      "# thread 3 c\nf 9\n");
  test::add_markers(&profile,
                    "span 1 1 9 one\n"
                    "span 2 3 4 two\n"
                    "span 1 5 6 across to=2\n"
                    "span 3 20 30 three\n"
                    "event 2 4 flush\n"
                    "counter 2 5 queue 1\n"
                    "counter 3 25 other 1\n"
                    "section 2 3 4 request\n"
                    "section all 5 8 phase\n");
  return profile;
}

std::string names(const Profile& profile, const View& view) {
  const Markers& markers = profile.markers;
  const ViewMarkers rows = markers_of(view);
  std::string text;
  const auto add = [&](const auto& table, const std::vector<uint32_t>& indexes) {
    for (const uint32_t index : indexes) text += " " + markers.texts[table[index].name];
  };
  add(markers.spans, rows.spans);
  add(markers.events, rows.events);
  add(markers.counters, rows.counters);
  add(markers.sections, rows.sections);
  return text;
}

TEST(ViewMarkers, AreOfItsThreadsAndTheirProcesses) {
  const Profile profile = marked();
  EXPECT_EQ(names(profile, select(profile)),
            " one two across three flush queue other request phase");
  EXPECT_EQ(names(profile, select(profile, {.threads = {"2"}})),
            " two across flush queue request phase");
  EXPECT_EQ(names(profile, select(profile, {.process = 3})), " three other");
}

TEST(ViewMarkers, AreInItsTime) {
  const Profile profile = marked();
  EXPECT_EQ(names(profile, select(profile, {.from_s = 0.0055, .to_s = 0.0058})),
            " one across phase");
  EXPECT_EQ(names(profile, select(profile, {.section = "request"})), " two flush request");
  EXPECT_EQ(names(profile, select(profile, {.section = "phase"})), " one across queue phase");
}

TEST(ViewMarkers, AreThoseOfAllThreadsOfAPool) {
  const Profile profile = marked();
  View view = select(profile, {.process = 1, .merge = Merge::kPool});
  view.threads = {0};
  view.merged_into = {0, 0, 2};
  EXPECT_EQ(names(profile, view), " one two across flush queue request phase");
}

}  // namespace
}  // namespace sampan::profile

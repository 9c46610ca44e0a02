#include "profile/markers.h"

#include <gtest/gtest.h>

#include "profile/view.h"
#include "support/text_markers.h"
#include "support/text_profile.h"

namespace sampan::profile {
namespace {

TEST(Markers, AreInTheOrderOfTheirBeginnings) {
  Profile profile = test::profile_of("main 10\n# thread 101 worker\nstart 10\n");
  test::add_markers(&profile,
                    "span 101 10 12 inner parent=2\n"
                    "span 101 10 25.5 outer text=a\\sb\n"
                    "span 100 2 30 across to=101\n"
                    "counter 100 3 queue 1.5\n"
                    "section all 1 2 infer_1\n");
  const Markers& markers = profile.markers;
  ASSERT_EQ(markers.spans.size(), 3u);
  EXPECT_EQ(markers.texts[markers.spans[0].name], "across");
  EXPECT_EQ(markers.spans[0].kind, SpanKind::kAcross);
  EXPECT_EQ(markers.texts[markers.spans[1].name], "outer");
  EXPECT_EQ(markers.texts[markers.spans[1].text], "a b");
  EXPECT_EQ(markers.spans[1].end_ns, 25'500'000u);
  EXPECT_EQ(markers.spans[2].parent_id, markers.spans[1].id);
  EXPECT_EQ(profile.threads[markers.spans[2].thread].tid, 101);
  EXPECT_EQ(markers.counters[0].value, 1.5);
  EXPECT_EQ(markers.sections[0].thread, kNone);
}

TEST(Markers, ThreadsStandInTheOrderThatTheyGaveThemselves) {
  Profile profile = test::profile_of(
      "main 10\n# thread 101 a\nf 30\n# thread 102 b\nf 20\n# thread 103 c\nf 1\n");
  Markers markers;
  markers.labels = {{20, 0, 3, 0, -1}, {30, 0, 2, 0, 7}, {40, 0, 2, 0, {}}};
  load_markers(std::move(markers), &profile);
  EXPECT_EQ(select(profile).threads, (std::vector<uint32_t>{3, 2, 0, 1}));
}

TEST(Markers, LabelsNameThreadsAndProcesses) {
  Profile profile = test::profile_of("main 10\n# thread 101 worker\nstart 10\n");
  Markers markers;
  markers.texts = {"", "old", "new", "service"};
  markers.labels = {{20, 0, 1, 2, {}}, {10, 0, 1, 1, {}}, {30, 0, kNone, 3, {}}};
  load_markers(std::move(markers), &profile);
  EXPECT_EQ(profile.threads[1].name, "new");
  EXPECT_EQ(profile.processes[0].name, "service");
}

}  // namespace
}  // namespace sampan::profile

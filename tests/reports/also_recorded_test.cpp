#include <gtest/gtest.h>

#include "profile/view.h"
#include "reports/report.h"
#include "support/text_markers.h"
#include "support/text_profile.h"

namespace sampan::reports {
namespace {

// From its heading on.
std::string also_recorded(const profile::Profile& profile, const profile::Selection& selection = {},
                          const PageOptions& options = {}) {
  const std::string text = page(select(profile, selection), options);
  const size_t begin = text.find("Also recorded\n");
  return begin == text.npos ? "" : text.substr(begin);
}

profile::Profile marked() {
  profile::Profile profile = test::profile_of("f 10\n~futex 2\n");
  test::add_markers(&profile,
                    "span 100 1 2 parse\nspan 100 3 4 parse\ncounter 100 3 queue 1.5\n"
                    "counter 100 4 queue 2\nevent 100 5 start\nsection all 7 17 infer_1\n");
  return profile;
}

TEST(AlsoRecorded, NamesTheCommandsThatShowIt) {
  EXPECT_EQ(also_recorded(marked(), {}, {.recording = "out/run"}),
            "Also recorded\n"
            "  2 spans              sampan spans out/run\n"
            "  1 counter            sampan view out/run\n"
            "  1 event              sampan view out/run\n"
            "  samples of sections  sampan report --section NAME out/run\n"
            "  stacks of waits      sampan report --state waiting --tree out/run\n");
}

TEST(AlsoRecorded, IsWhatThePageDoesNotShowYet) {
  const profile::Profile profile = marked();
  EXPECT_EQ(also_recorded(profile, {.section = "infer_1"}).find("--section"), std::string::npos);
  profile::Selection waiting;
  waiting.state = profile::State::kWaiting;
  EXPECT_EQ(also_recorded(profile, waiting).find("--state"), std::string::npos);
  EXPECT_EQ(also_recorded(test::profile_of("f 10\n")), "");
}

}  // namespace
}  // namespace sampan::reports

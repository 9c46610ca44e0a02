#include <gtest/gtest.h>

#include "profile/view.h"
#include "reports/report.h"
#include "support/text_markers.h"
#include "support/text_profile.h"

namespace sampan::reports {
namespace {

profile::Profile with_sections() {
  profile::Profile profile = test::profile_of("f 10\n~futex 2\n# thread 101 w\ng 5\n");
  test::add_markers(&profile,
                    "section all 7 17 infer_1\nsection 101 3 5 in\\sfer_2 closed=1\n"
                    "section all 41 45 infer_1\n");
  return profile;
}

TEST(NamedSections, HaveATable) {
  const std::string page = reports::page(select(with_sections()));
  EXPECT_NE(page.find("Sections, longest first (seconds)\n"
                      "  times   wall  longest    CPU  waited  samples  section\n"
                      "      2  0.014    0.010  0.024   0.004        7  infer_1\n"
                      "      1  0.002    0.002  0.004   0.000        1  in fer_2\n"
                      "  1 occurrence not closed by the program, but by the end of a thread or "
                      "process\n"),
            std::string::npos)
      << page;
  const profile::Profile profile = with_sections();
  EXPECT_EQ(reports::page(select(profile, {.section = "infer_1"})).find("Sections"),
            std::string::npos);
  EXPECT_EQ(reports::page(select(test::profile_of("f 1\n"))).find("Sections"), std::string::npos);
}

TEST(NamedSections, AreNamedWhereOneIsShown) {
  const profile::Profile profile = with_sections();
  EXPECT_NE(reports::page(select(profile, {.section = "in fer_2"}))
                .find("shown     1 of 2 threads, inside the section in fer_2\n"),
            std::string::npos)
      << reports::page(select(profile, {.section = "in fer_2"}));
}

TEST(NamedSections, AreInTheJson) {
  const std::string json = reports::json(select(with_sections()));
  const size_t begin = json.find("\"sections\"");
  ASSERT_NE(begin, std::string::npos);
  EXPECT_NE(json.find("in fer_2", begin), std::string::npos);
}

}  // namespace
}  // namespace sampan::reports

#include "profile/sections.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "profile/view.h"
#include "support/text_markers.h"
#include "support/text_profile.h"

namespace sampan::profile {
namespace {

// Samples at 4, 8, 12, ... ms of each thread, named by that time.
Profile numbered() {
  std::string text;
  for (const int tid : {100, 101, 102}) {
    text += "# thread " + std::to_string(tid) + " t\n";
    for (int i = 1; i <= 6; ++i) text += "f;at" + std::to_string(4 * i) + " 1\n";
  }
  return test::profile_of(text);
}

std::string section_text(const Profile& profile, const std::string& name,
                         Selection selection = {}) {
  selection.section = name;
  return test::text_of(select(profile, selection));
}

TEST(Sections, HaveTheSamplesOfTheirIntervalsAndNoOthers) {
  Profile profile = numbered();
  test::add_markers(&profile,
                    "section all 7 13 both\n"
                    "section 101 3.9 8 one\n"
                    "section 101 19 20 one\n"
                    "section 102 20 21 one\n"
                    "section all 4.1 7.9 empty\n");
  EXPECT_EQ(section_text(profile, "both"),
            "# thread 100 t\nf;at12 1\nf;at8 1\n"
            "# thread 101 t\nf;at12 1\nf;at8 1\n"
            "# thread 102 t\nf;at12 1\nf;at8 1\n");
  EXPECT_EQ(section_text(profile, "one"),
            "# thread 101 t\nf;at20 1\nf;at4 1\nf;at8 1\n"
            "# thread 102 t\nf;at20 1\n");
  EXPECT_TRUE(select(profile, {.section = "empty"}).samples.empty());
  EXPECT_EQ(section_text(profile, "one", {.threads = {"101"}, .from_s = 0.007, .to_s = 0.0195}),
            "# thread 101 t\nf;at8 1\n");
}

// Samples at 4, 8 and 12 ms of a master, two workers that it forks, a worker's child, and a stranger.
TEST(Sections, OfAMasterCoverTheWorkersThatItForksInThem) {
  std::string text;
  for (const int pid : {100, 200, 300, 400, 500}) {
    text +=
        fmt::format("# process {0} /bin/p\n# thread {0} p{0}\nf;at4 1\nf;at8 1\nf;at12 1\n", pid);
  }
  Profile profile = test::profile_of(text);
  const int parents[] = {1, 100, 100, 200, 1};
  const uint64_t starts_ms[] = {0, 3, 9, 4, 4};
  for (size_t i = 0; i < profile.processes.size(); ++i) {
    profile.processes[i].parent_pid = parents[i];
    profile.processes[i].start_ns = SessionNs::at(starts_ms[i] * 1'000'000);
  }
  test::add_markers(&profile, "section all 2 8 serving\n");
  EXPECT_EQ(section_text(profile, "serving"),
            "# thread 100 p100\nf;at4 1\nf;at8 1\n"
            "# thread 200 p200\nf;at4 1\nf;at8 1\n"
            "# thread 400 p400\nf;at4 1\nf;at8 1\n");
}

TEST(Sections, CountEachSampleOnceWhereIntervalsOverlap) {
  Profile profile = numbered();
  test::add_markers(
      &profile, "section 101 1 9 a\nsection 101 2 5 a\nsection 101 8 13 a\nsection all 4 4 a\n");
  EXPECT_EQ(section_text(profile, "a", {.threads = {"101"}}),
            "# thread 101 t\nf;at12 1\nf;at4 1\nf;at8 1\n");
}

TEST(Sections, HaveTheThreadsThatLivedInThem) {
  Profile profile = numbered();
  profile.threads[0].end_ns = SessionNs(5'000'000);
  profile.threads[2].start_ns = 9'000'000;
  test::add_markers(&profile, "section all 6 8.5 a\n");
  EXPECT_EQ(select(profile, {.section = "a"}).threads, std::vector<uint32_t>{1});
}

TEST(Sections, AreOfTheirProcess) {
  Profile profile = test::profile_of(
      "# process 100 /bin/a\n# thread 100 a\nf 3\n# process 200 /bin/b\n# thread 200 b\ng 3\n");
  test::add_markers(&profile, "section all 0 100 a\n");
  EXPECT_EQ(section_text(profile, "a"), "# thread 100 a\nf 3\n");
}

TEST(Sections, AreListedByName) {
  Profile profile = numbered();
  test::add_markers(&profile,
                    "section all 1 3 short\nsection 101 2 9 long closed=1\n"
                    "section all 5 8 short\nsection all 6 10 middle\n");
  const std::vector<NamedSection> sections = named_sections(profile);
  ASSERT_EQ(sections.size(), 3u);
  EXPECT_EQ(profile.markers.texts[sections[0].name], "short");
  EXPECT_EQ(sections[0].rows, (std::vector<uint32_t>{0, 2}));
  EXPECT_EQ(sections[0].wall_ns, 5'000'000u);
  EXPECT_EQ(sections[0].longest_ns, 3'000'000u);
  EXPECT_EQ(sections[0].unclosed, 0u);
  EXPECT_EQ(sections[1].unclosed, 1u);
  const std::vector<NamedSection> longest = longest_sections(sections, 2);
  ASSERT_EQ(longest.size(), 2u);
  EXPECT_EQ(profile.markers.texts[longest[0].name], "long");
  EXPECT_EQ(profile.markers.texts[longest[1].name], "middle");
}

TEST(Sections, WeighWhatTheirSamplesDo) {
  Profile profile = test::profile_of("f 2\n~futex 3\n# thread 101 w\nf 5\n");
  test::add_markers(&profile, "section all 7 13 a\n");
  const SectionWeight weight = section_weight(select(profile), named_section(profile, "a"));
  EXPECT_EQ(weight.cpu.ns, 3 * test::kSamplePeriod);
  EXPECT_EQ(weight.cpu.samples, 3u);
  EXPECT_EQ(weight.waiting.samples, 1u);
}

TEST(Sections, HaveThreadsThatAreMerged) {
  Profile profile = numbered();
  profile.threads[0].end_ns = SessionNs(5'000'000);
  test::add_markers(&profile, "section all 7 9 a\n");
  const View view = select(profile, {.section = "a", .merge = Merge::kName});
  ASSERT_EQ(view.threads.size(), 1u);
  EXPECT_EQ(view.samples.size(), 3u);
  const View cut =
      only_section(select(profile, {.merge = Merge::kName}), named_section(profile, "a"));
  EXPECT_EQ(cut.threads, std::vector<uint32_t>{0});
  EXPECT_EQ(cut.samples.size(), 3u);
}

TEST(Sections, AreSaidNotToBeThere) {
  const auto message = [](const Profile& profile, const char* name) -> std::string {
    try {
      select(profile, {.section = name});
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  };
  Profile profile = numbered();
  EXPECT_EQ(message(profile, "infer_1"), "the recording has no sections: none is 'infer_1'");
  test::add_markers(&profile, "section all 1 3 infer_1\n");
  EXPECT_EQ(message(profile, "infer_2"), "no section is called 'infer_2', did you mean 'infer_1'?");
}

}  // namespace
}  // namespace sampan::profile

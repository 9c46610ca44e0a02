// Stacks within a size: light ones become part of their callers'.
#include "exporters/write_stacks.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "exporters/formats.h"
#include "support/scratch_directory.h"
#include "support/text_profile.h"

namespace sampan::exporters {
namespace {

// Leaf and samples of each row.
std::vector<std::string> leaves(const profile::Profile& profile, const StackRows& rows) {
  std::vector<std::string> result;
  for (const profile::WeightedStack& row : rows) {
    std::string name = "nothing";
    if (row.stack != profile::kNone) {
      const profile::Location& place = profile.locations[profile.stacks[row.stack].location];
      name = profile.strings[profile.functions[profile.lines[place.first_line].function].name];
    }
    result.push_back(name + " " + std::to_string(row.weight.samples));
  }
  return result;
}

using Leaves = std::vector<std::string>;

TEST(WriteStacks, MergesWhatIsLightIntoItsCaller) {
  const profile::Profile profile = test::profile_of(
      "main;a;x 1\nmain;a;y 1\nmain;b 9\nmain;c;~futex 1\n 1\n# thread 101 w\nmain;a;x 1\n");
  const profile::View view = select(profile);
  const StackRows rows = by_thread_and_stack(view);
  EXPECT_EQ(leaves(profile, merge_light_stacks(profile, rows, 0)), leaves(profile, rows));
  // Two of one sample each are as heavy as one of two.
  EXPECT_EQ(leaves(profile, merge_light_stacks(profile, rows, 2 * test::kSamplePeriod)),
            (Leaves{"a 2", "b 9", "[futex] 1", "nothing 1", "main 1"}));
  EXPECT_EQ(leaves(profile, merge_light_stacks(profile, rows, UINT64_MAX)),
            (Leaves{"main 11", "[futex] 1", "nothing 1", "main 1"}));
}

TEST(WriteStacks, KeepsToTheSize) {
  std::string text;
  for (int i = 0; i < 1000; ++i) {
    const std::string i_text = std::to_string(i);
    text += "main;f" + i_text + ";g" + std::to_string(i % 30) + ";h" + i_text + " " +
            std::to_string(1 + i % 7) + "\n";
  }
  const profile::Profile profile = test::profile_of(text);
  const test::ScratchDirectory directory;
  for (const auto write : {write_folded, write_callgrind, write_pstats, write_pprof}) {
    const std::string path = directory.file("x");
    EXPECT_TRUE(write(select(profile), path, 0).notes.empty());
    const uint64_t whole = std::filesystem::file_size(path);
    EXPECT_TRUE(write(select(profile), path, whole).notes.empty());
    EXPECT_EQ(std::filesystem::file_size(path), whole);
    const Outcome outcome = write(select(profile), path, whole / 2);
    EXPECT_LE(std::filesystem::file_size(path), whole / 2);
    ASSERT_EQ(outcome.notes.size(), 1u);
    EXPECT_NE(outcome.notes[0].find("are part of their callers'"), std::string::npos);
  }
}

}  // namespace
}  // namespace sampan::exporters

// Fewer samples, the same weights.
#include "exporters/sample_windows.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "profile/weights.h"
#include "support/text_profile.h"

namespace sampan::exporters {
namespace {

std::string name_of(const profile::Profile& profile, uint32_t location) {
  const profile::Line& line = profile.lines[profile.locations[location].first_line];
  return profile.strings[profile.functions[line.function].name];
}

using test::kSamplePeriod;
using test::profile_of;

// Samples of `position` as pairs of stack and weight in periods.
std::vector<std::pair<uint32_t, uint64_t>> weights(SampleWindows& windows, size_t position) {
  std::vector<std::pair<uint32_t, uint64_t>> result;
  for (const WindowSample& sample : windows.samples(position)) {
    EXPECT_EQ(sample.weight_ns, sample.samples * kSamplePeriod);
    result.emplace_back(sample.stack, sample.samples);
  }
  return result;
}

// A size of one byte per sample.
std::vector<std::string> fit(SampleWindows& windows, size_t threads, uint64_t max_size) {
  return windows.fit(max_size, [&windows, threads] {
    uint64_t size = 0;
    for (size_t i = 0; i < threads; ++i) size += windows.samples(i).size();
    return size;
  });
}

TEST(SampleWindows, KeepEverySampleWhereThereIsRoom) {
  const profile::Profile profile = profile_of("a 2\nb 1\n# thread 101 w\na 1\n 1\n");
  const profile::View view = select(profile);
  SampleWindows windows(view);
  EXPECT_TRUE(fit(windows, 2, 5).empty());
  EXPECT_TRUE(fit(windows, 2, 0).empty());
  using Weights = std::vector<std::pair<uint32_t, uint64_t>>;
  EXPECT_EQ(weights(windows, 0), (Weights{{0, 1}, {0, 1}, {1, 1}}));
  EXPECT_EQ(weights(windows, 1), (Weights{{0, 1}, {profile::kNone, 1}}));
}

// With wall time, a thread that only waits has the most time, but a person wants to see the busiest
// one first. The positions are those of main, busy, half and idle.
TEST(SampleWindows, TheBusiestThreadHasMostCpu) {
  const profile::Profile profile = profile_of(
      "# thread 100 main\n~futex 90\n# thread 101 idle\n~futex 95\n# thread 102 half\na 5\n~read "
      "50\n"
      "# thread 103 busy\na 6\n");
  EXPECT_EQ(SampleWindows(select(profile)).busiest_first(), (std::vector<size_t>{1, 2, 3, 0}));
}

TEST(SampleWindows, SamplesOfDifferentLabelsStayApart) {
  const profile::Profile profile = profile_of("a 8\n# thread 101 w\na 4\n");
  const profile::View view = select(profile);
  std::vector<uint32_t> labels;  // by position in the view
  for (const uint32_t sample : view.samples) {
    labels.push_back(profile.samples[sample].thread == 1 ? 7 : labels.size() % 2);
  }
  SampleWindows windows(view, labels);
  fit(windows, 2, 6);
  std::map<uint32_t, uint64_t> samples;
  for (const WindowSample& sample : windows.samples(0)) samples[sample.label] += sample.samples;
  uint64_t odd = 0;
  for (size_t i = 0; i < labels.size(); ++i) odd += labels[i] == 1;
  EXPECT_EQ(samples, (std::map<uint32_t, uint64_t>{{0, 8 - odd}, {1, odd}}));
  uint64_t others = 0;
  for (const WindowSample& sample : windows.samples(1)) {
    EXPECT_EQ(sample.label, 7u);
    others += sample.samples;
  }
  EXPECT_EQ(others, 4u);
}

TEST(SampleWindows, KeepWeightsAndTheOrderOfTime) {
  std::string text;
  for (int i = 0; i < 50; ++i) text += "a 1\nb 1\nmain;~read pipe:[7] 1\n";
  const profile::Profile profile = profile_of(text);
  const profile::View view = select(profile);
  SampleWindows windows(view);
  const std::vector<std::string> notes = fit(windows, 1, 40);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("at most 0.0 MB"), std::string::npos) << notes[0];
  const std::vector<WindowSample> samples = windows.samples(0);
  EXPECT_LE(samples.size(), 40u);
  EXPECT_GT(samples.size(), 10u);
  EXPECT_TRUE(std::is_sorted(samples.begin(), samples.end(),
                             [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; }));
  std::vector<uint64_t> by_stack(profile.stacks.size());
  uint64_t waiting = 0;
  for (const WindowSample& sample : samples) {
    by_stack[sample.stack] += sample.weight_ns;
    if (sample.waiting) waiting += sample.samples;
  }
  EXPECT_EQ(std::count(by_stack.begin(), by_stack.end(), 50 * kSamplePeriod), 3);
  EXPECT_EQ(waiting, 50u);
}

TEST(SampleWindows, LetSomeStandForOthersWhereThereAreTooManyStacks) {
  std::string text;
  for (int i = 0; i < 300; ++i) {
    text += fmt::format("main;hot;leaf_{0} 2\nmain;cold;leaf_{0} 1\nmain;~read pipe:[{0}] 1\n", i);
  }
  const profile::Profile profile = profile_of(text);
  const profile::View view = select(profile);
  SampleWindows windows(view);
  const std::vector<std::string> notes = fit(windows, 1, 120);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("one of 8 samples stands for the others"), std::string::npos) << notes[0];
  const std::vector<WindowSample> samples = windows.samples(0);
  EXPECT_EQ(samples.size(), 75u + 38u);  // of 600 and 300, which are one of eight
  profile::Weight cpu, waiting;
  uint64_t hot_ns = 0;
  for (const WindowSample& sample : samples) {
    (sample.waiting ? waiting : cpu) += {sample.weight_ns, sample.samples};
    const uint32_t caller = profile.stacks[profile.stacks[sample.stack].prefix].location;
    if (name_of(profile, caller) == "hot") hot_ns += sample.weight_ns;
  }
  EXPECT_EQ(cpu, (profile::Weight{900 * kSamplePeriod, 900}));
  EXPECT_EQ(waiting, (profile::Weight{300 * kSamplePeriod, 300}));
  // 50 ± 4.1 of 75 parts with a chance of 2/3 each; three times that, a part being 12 samples.
  EXPECT_NEAR(static_cast<double>(hot_ns), 600.0 * kSamplePeriod, 3 * 4.1 * 12 * kSamplePeriod);
  EXPECT_TRUE(std::is_sorted(samples.begin(), samples.end(),
                             [](const auto& a, const auto& b) { return a.time_ns < b.time_ns; }));
}

TEST(SampleWindows, KeepOneSampleOfEachThread) {
  const profile::Profile profile = profile_of("a 20\nb 10\n 5\n# thread 101 w\na 1\n");
  const profile::View view = select(profile);
  SampleWindows windows(view);
  const std::vector<std::string> notes = fit(windows, 2, 1);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("no more than 0.0 MB"), std::string::npos) << notes[0];
  using Weights = std::vector<std::pair<uint32_t, uint64_t>>;
  EXPECT_EQ(weights(windows, 0), (Weights{{0, 35}}));
  EXPECT_EQ(weights(windows, 1), (Weights{{0, 1}}));
}

}  // namespace
}  // namespace sampan::exporters

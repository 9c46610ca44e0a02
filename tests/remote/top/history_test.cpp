#include "remote/top/history.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "known.h"
#include "profile/frames.h"

namespace sampan::top {
namespace {

using profile::kNone;

// "thread: root;leaf samples" of each row.
std::map<std::string, uint64_t> text_of(const History& history, Scope scope) {
  const profile::Profile& profile = history.profile();
  std::map<std::string, uint64_t> rows;
  for (const profile::WeightedStack& row : history.weights(scope)) {
    std::vector<profile::Frame> frames;
    root_to_leaf(profile, row.stack, &frames);
    std::string text = profile.threads[row.thread].name + ":";
    for (const profile::Frame& frame : frames) {
      text += " ";
      text += function_name(profile, frame.function);
    }
    EXPECT_EQ(row.weight.ns, row.weight.samples * test::kSamplePeriod);
    rows[text] += row.weight.samples;
  }
  return rows;
}

using Rows = std::map<std::string, uint64_t>;

TEST(History, AddsUpByThreadAndStack) {
  History history(5 * kNsPerSecond);
  see(&history, "main;a 1\nmain;b 2\nmain;a 3\n# thread 101 worker\nmain;a 4\n");
  const Rows expected = {{"app: main a", 4}, {"app: main b", 2}, {"worker: main a", 4}};
  EXPECT_EQ(text_of(history, Scope::kWindow), expected);
  EXPECT_EQ(text_of(history, Scope::kStart), expected);
  EXPECT_EQ(history.samples(), 10u);
}

TEST(History, HasSumsOfTheWindowAndSinceTheStart) {
  History history(2 * kNsPerSecond);
  see(&history, "main;a 1\n", 0, kNsPerSecond);
  see(&history, "main;a 0\nmain;b 2\n", kNsPerSecond, 2 * kNsPerSecond);
  EXPECT_EQ(text_of(history, Scope::kWindow), (Rows{{"app: main a", 1}, {"app: main b", 2}}));
  see(&history, "main;a 0\nmain;b 4\n", 2 * kNsPerSecond, 3 * kNsPerSecond);
  EXPECT_EQ(text_of(history, Scope::kWindow), (Rows{{"app: main b", 6}}));
  EXPECT_EQ(history.span_ns(Scope::kWindow), 2 * kNsPerSecond);
  EXPECT_EQ(text_of(history, Scope::kStart), (Rows{{"app: main a", 1}, {"app: main b", 6}}));
  EXPECT_EQ(history.span_ns(Scope::kStart), 3 * kNsPerSecond);
}

TEST(History, TakesTheEndOfALongSliceIntoTheWindow) {
  History history(kNsPerSecond);
  // Samples are 4 ms apart: the last 250 lie in the last second.
  see(&history, "main;a 250\nmain;b 250\n", 0, 2 * kNsPerSecond + 2'000'000);
  EXPECT_EQ(text_of(history, Scope::kWindow), (Rows{{"app: main b", 250}}));
  EXPECT_EQ(history.span_ns(Scope::kWindow), kNsPerSecond);
  EXPECT_EQ(text_of(history, Scope::kStart), (Rows{{"app: main a", 250}, {"app: main b", 250}}));
}

TEST(History, RecognizesThreadsInLaterSlices) {
  History history(5 * kNsPerSecond);
  see(&history);
  see(&history, kKnown, kNsPerSecond, 2 * kNsPerSecond);
  EXPECT_EQ(history.profile().threads.size(), 3u);
  EXPECT_EQ(history.profile().stacks.size(), [] {
    History once(kNsPerSecond);
    see(&once);
    return once.profile().stacks.size();
  }());
}

TEST(History, KnowsWhatAThreadIsDoing) {
  History history(5 * kNsPerSecond);
  see(&history);
  const profile::Profile& profile = history.profile();
  EXPECT_EQ(profile.waits[history.doing(0).wait].call, "poll");
  EXPECT_EQ(history.doing(1).wait, kNone);
  EXPECT_TRUE(profile.is_runnable(history.doing(2).wait));
}

// Removes the names that the text gave.
profile::Profile without_names(std::string_view text) {
  profile::Profile profile = test::profile_of(text);
  for (profile::Location& location : profile.locations) location.line_count = 0;
  return profile;
}

TEST(History, NamesEachLocationOnce) {
  History history(5 * kNsPerSecond);
  size_t named = 0;
  const auto name = [&](profile::Profile& part) {
    for (profile::Location& location : part.locations) {
      ASSERT_EQ(location.line_count, 0u);
      const uint32_t text = part.strings.intern(fmt::format("f{:x}", location.address));
      part.functions.push_back({.name = text, .module = location.module});
      location.first_line = static_cast<uint32_t>(part.lines.size());
      location.line_count = 1;
      part.lines.push_back({static_cast<uint32_t>(part.functions.size() - 1), 0, 0});
      ++named;
    }
    ASSERT_EQ(part.samples.size(), part.locations.size());
  };
  history.add(without_names("main;a 1\n"), 0, kNsPerSecond);
  EXPECT_EQ(text_of(history, Scope::kStart), (Rows{{"app: [app] [app]", 1}}));
  EXPECT_TRUE(history.lacks_names());
  history.find_names(name);
  EXPECT_EQ(text_of(history, Scope::kStart), (Rows{{"app: f1000 f1010", 1}}));
  EXPECT_EQ(named, 2u);
  history.add(without_names("main;a 1\nmain;b 1\n"), kNsPerSecond, 2 * kNsPerSecond);
  history.find_names(name);
  EXPECT_EQ(named, 3u);
  EXPECT_EQ(text_of(history, Scope::kStart),
            (Rows{{"app: f1000 f1010", 2}, {"app: f1000 f1020", 1}}));
  EXPECT_FALSE(history.lacks_names());
}

// At one address, or in two processes.
TEST(History, TellsCodeThatTookThePlaceOfOther) {
  History history(5 * kNsPerSecond);
  for (const std::string name : {"first", "other", "first"}) {
    profile::Profile slice = test::profile_of("main;" + name + " 1\n");
    for (profile::Location& location : slice.locations) location.module = kNone;
    history.add(slice, 0, kNsPerSecond);
  }
  EXPECT_EQ(text_of(history, Scope::kStart),
            (Rows{{"app: main first", 2}, {"app: main other", 1}}));
}

TEST(History, DoesNotChangeWhileFrozen) {
  History history(5 * kNsPerSecond);
  see(&history, "main;a 1\n");
  history.freeze();
  see(&history, "main;a 0\nmain;b 2\n", kNsPerSecond, 2 * kNsPerSecond);
  EXPECT_EQ(text_of(history, Scope::kWindow), (Rows{{"app: main a", 1}}));
  EXPECT_EQ(history.span_ns(Scope::kStart), kNsPerSecond);
  EXPECT_EQ(history.samples(), 1u);
  history.thaw();
  EXPECT_EQ(text_of(history, Scope::kWindow), (Rows{{"app: main a", 1}, {"app: main b", 2}}));
}

TEST(History, ForgetsTheLightestStacksAndKeepsTheirWeight) {
  constexpr size_t kMost = 50;
  History history(kNsPerSecond, kMost);
  uint64_t samples = 0;
  std::string before = "main;heavy 5\n";
  for (uint64_t i = 0; i < 200; ++i) {
    const auto from_ns = SessionNs::at(i * kNsPerSecond);
    see(&history, before + fmt::format("main;light{} 1\n", i), from_ns, from_ns + kNsPerSecond);
    before += fmt::format("main;light{} 0\n", i);
    samples += 6;
    EXPECT_LE(history.profile().stacks.size(), kMost + 10);
  }
  Rows rows = text_of(history, Scope::kStart);
  EXPECT_EQ(rows["app: main heavy"], 1000u);
  EXPECT_GT(rows["app:"], 100u);
  uint64_t sum = 0;
  for (const auto& [text, count] : rows) sum += count;
  EXPECT_EQ(sum, samples);
  EXPECT_EQ(text_of(history, Scope::kWindow),
            (Rows{{"app: main heavy", 5}, {"app: main light199", 1}}));
}

}  // namespace
}  // namespace sampan::top

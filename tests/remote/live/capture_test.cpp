// Captures of a program that runs: this test, started as a recorder, becomes the sampan of
// SAMPAN_PROGRAM.
#include "remote/live/capture.h"
#include "base/units.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string_view>
#include <thread>

#include "base/error.h"
#include "support/scratch_directory.h"

namespace sampan::live {
namespace {

std::string target(const char* name) {
  const char* const folder = std::getenv("SAMPAN_TARGETS");
  return std::string(folder != nullptr ? folder : "tests/targets") + "/" + name;
}

CaptureOptions clockwork(const char* seconds) {
  return {{.command = {target("target_clockwork"), "1", "2", "0.5", "exit", seconds}}, true};
}

void sleep_until(const Capture& capture, uint64_t time_ns) {
  while (capture.now_ns() < time_ns) std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

uint64_t weight(const recording::Recording& recording) {
  uint64_t sum = 0;
  for (const recording::Sample& sample : recording.samples) sum += sample.weight_ns;
  return sum;
}

std::set<int32_t> tids(const recording::Recording& recording) {
  std::set<int32_t> tids;
  for (const recording::Thread& thread : recording.threads) tids.insert(thread.tid);
  return tids;
}

// Looks of a second each have together what one look at all of them has, wherever files begin.
TEST(Capture, PartsOfItsTimeMakeTheWhole) {
  Capture capture(clockwork("4"));
  sleep_until(capture, kNsPerSecond * 3 / 2);
  capture.control("flush");  // the next file begins here
  sleep_until(capture, 3 * kNsPerSecond);
  capture.flush();
  const recording::Recording whole = capture.read(0, 3 * kNsPerSecond);
  EXPECT_GE(tids(whole).size(), 3u);  // two that compute, and one that waits for the end
  uint64_t sum = 0;
  for (uint64_t second = 0; second < 3; ++second) {
    const auto from_ns = SessionNs::at(second * kNsPerSecond);
    const auto part = capture.read(from_ns, from_ns + kNsPerSecond);
    EXPECT_TRUE(part.damage.empty());
    EXPECT_FALSE(part.end);  // the first file's has one
    for (const recording::Sample& sample : part.samples) {
      EXPECT_GE(sample.time_ns, from_ns);
      EXPECT_LT(sample.time_ns, from_ns + kNsPerSecond);
    }
    if (second > 0) {
      EXPECT_EQ(tids(part), tids(whole)) << second;
    }
    EXPECT_GT(weight(part), 0u) << second;
    sum += weight(part);
  }
  EXPECT_EQ(sum, weight(whole));
}

// What is there after a flush reaches up to the flush: threads compute for a quarter of each 20 ms.
TEST(Capture, IsUpToDateAfterAFlush) {
  Capture capture(clockwork("30"));
  sleep_until(capture, kNsPerSecond);
  const uint64_t now_ns = capture.now_ns();
  capture.flush();
  SessionNs latest_ns = 0;
  for (const auto& sample : capture.read(0, UINT64_MAX).samples) {
    latest_ns = std::max(latest_ns, sample.time_ns);
  }
  EXPECT_GT(latest_ns + kNsPerSecond / 4, now_ns);
  EXPECT_FALSE(capture.over());
}

TEST(Capture, CanBeReadWhenItIsOverAndGoesWithItsReader) {
  std::string directory;
  {
    Capture capture(clockwork("0.5"));
    while (!capture.over()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(capture.finish(), 0);
    capture.flush();
    const recording::Recording all = capture.read();
    ASSERT_TRUE(all.end);
    EXPECT_EQ(all.end->exit_status, 0);
    EXPECT_GT(weight(all), 0u);
    directory = capture.directory();
    EXPECT_TRUE(std::filesystem::exists(directory));
  }
  EXPECT_FALSE(std::filesystem::exists(directory));
}

TEST(Capture, IsReadAsWellWhereItStays) {
  const test::ScratchDirectory directory;
  {
    CaptureOptions options = clockwork("1");
    options.kept_in = directory.file("kept");
    Capture capture(options);
    sleep_until(capture, kNsPerSecond / 2);
    capture.flush();
    EXPECT_GT(weight(capture.read()), 0u);
    EXPECT_GT(weight(capture.read(0, capture.now_ns())), 0u);
  }
  EXPECT_EQ(directory.names(), std::vector<std::string>{"kept"});
}

// SAMPAN_* are for the sampan that was started, and for the program: not for the recorder between.
TEST(Capture, TakesNoSettingsFromTheEnvironment) {
  for (const char* variable : {"SAMPAN_BLACK_BOX=30s", "SAMPAN_DURATION=0.1", "SAMPAN_START=paused",
                               "SAMPAN_SECTIONS_ONLY=1", "SAMPAN_RATE=none"}) {
    putenv(const_cast<char*>(variable));
  }
  {
    Capture capture({{.command = {"/bin/sh", "-c",
                                  "test \"$SAMPAN_BLACK_BOX$SAMPAN_RATE\" = 30snone || exit 3;"
                                  "i=0; while test $i -lt 200000; do i=$((i+1)); done"}},
                     true});
    while (!capture.over()) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(capture.finish(), 0);
    EXPECT_GT(weight(capture.read()), 0u);
  }
  for (const char* name : {"SAMPAN_BLACK_BOX", "SAMPAN_DURATION", "SAMPAN_START",
                           "SAMPAN_SECTIONS_ONLY", "SAMPAN_RATE"}) {
    unsetenv(name);
  }
}

TEST(Capture, SaysWhatTheRecorderSays) {
  try {
    Capture capture({{.command = {"/no/such/program"}}, true});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "/no/such/program: command not found");
  }
}

}  // namespace
}  // namespace sampan::live

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "recorder") {
    execv(std::getenv("RECORDER"), argv);
    std::perror("RECORDER");
    return 127;
  }
  setenv("RECORDER", std::getenv("SAMPAN_PROGRAM"), 1);  // a recorder is given no SAMPAN_*
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

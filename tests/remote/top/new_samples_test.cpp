#include "remote/top/source.h"

#include <gtest/gtest.h>

namespace sampan::top {
namespace {

recording::Recording with_samples(std::vector<recording::Sample> samples) {
  recording::Recording recording;
  recording.processes.resize(1);
  recording.threads = {{0, 100, 0, "a"}, {0, 101, 0, "b"}};
  recording.waits = {{"read", ""}, {"write", ""}};
  recording.samples = std::move(samples);
  return recording;
}

recording::Sample sample(uint32_t thread, SessionNs time_ns, uint32_t wait = recording::kNone) {
  recording::Sample result;
  result.thread = thread;
  result.time_ns = time_ns;
  result.wait = wait;
  return result;
}

size_t kept(NewSamples* samples, recording::Recording recording) {
  samples->keep(&recording);
  return recording.samples.size();
}

TEST(NewSamples, ReturnEachSampleOnce) {
  NewSamples samples;
  EXPECT_EQ(kept(&samples, with_samples({sample(0, 10), sample(0, 20), sample(1, 15)})), 3u);
  EXPECT_EQ(kept(&samples, with_samples({sample(0, 10), sample(0, 20), sample(1, 15)})), 0u);
  EXPECT_EQ(kept(&samples, with_samples({sample(0, 20), sample(0, 30), sample(1, 15)})), 1u);
}

TEST(NewSamples, IncludeSamplesWrittenLate) {
  NewSamples samples;
  EXPECT_EQ(kept(&samples, with_samples({sample(0, 100)})), 1u);
  // A wait and another thread, both older than samples that were seen.
  EXPECT_EQ(kept(&samples, with_samples({sample(0, 100), sample(0, 50, 0), sample(1, 60)})), 2u);
  EXPECT_EQ(kept(&samples, with_samples({sample(0, 100), sample(0, 50, 0), sample(0, 70, 1)})), 1u);
}

TEST(NewSamples, RecognizeThreadsWithOtherRows) {
  NewSamples samples;
  EXPECT_EQ(kept(&samples, with_samples({sample(0, 100), sample(1, 90)})), 2u);
  recording::Recording turned = with_samples({sample(1, 100), sample(0, 90), sample(0, 95)});
  std::swap(turned.threads[0], turned.threads[1]);
  EXPECT_EQ(kept(&samples, std::move(turned)), 1u);
}

}  // namespace
}  // namespace sampan::top

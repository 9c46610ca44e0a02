// Looks at a waiting child at made-up times, so that the weights are known beforehand.
#include "sampler/waits/wait_sampler.h"

#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>

#include "base/units.h"
#include "recording/reader.h"
#include "sampler/child.h"
#include "support/scratch_directory.h"

namespace sampan::sampler {
namespace {
constexpr uint64_t kStep = kNsPerSecond / 100;
constexpr uint64_t kStart = 50 * kNsPerSecond;  // of the session

class WaitSamplerTest : public testing::Test {
 protected:
  explicit WaitSamplerTest(void (*child)() = [] { pause(); })
      : child_(child), writer_(directory_.file("a.sampan"), {}), modules_(child_.pid()) {
    row_ = writer_.add(recording::Thread{writer_.add(recording::Process{}), child_.pid(), 0, ""});
    for (const auto& record : modules_.refresh(kStart).loaded) stacks_.load(record);
  }

  void SetUp() override { child_.wait_until_blocked(SYS_pause); }

  // The samples of a child that was looked at from the session's start on.
  std::vector<recording::Sample> samples_of(uint64_t length_ns, uint64_t known_ns) {
    MonotonicNs now_ns = kStart;
    WaitSampler sampler(writer_,
                        {child_.pid(),
                         {kStart},
                         [&](pid_t tid) {
                           const bool known = tid == child_.pid() && now_ns >= kStart + known_ns;
                           return known ? row_ : recording::kNone;
                         }},
                        modules_, walker_, stacks_);
    for (; now_ns < kStart + length_ns; now_ns += kStep) sampler.look(now_ns);
    sampler.finish(MonotonicNs(kStart) + length_ns);
    writer_.flush();
    recording_ = recording::read(directory_.file("a.sampan"));
    return recording_.samples;
  }

  uint64_t waited_ns() const {
    uint64_t sum = 0;
    for (const recording::Sample& sample : recording_.samples) sum += sample.weight_ns;
    return sum;
  }

  test::ScratchDirectory directory_;
  Child child_;
  recording::Writer writer_;
  ProcessModules modules_;
  RemoteWalker walker_{modules_};
  StackRecorder stacks_{writer_};
  uint32_t row_ = recording::kNone;
  recording::Recording recording_;
};

TEST_F(WaitSamplerTest, AWaitIsOneSampleASecond) {
  const auto samples = samples_of(10 * kNsPerSecond, 0);
  EXPECT_EQ(waited_ns(), 10 * kNsPerSecond);
  EXPECT_GE(samples.size(), 8u);
  EXPECT_LE(samples.size(), 11u);
  for (const recording::Sample& sample : samples) {
    EXPECT_EQ(recording_.waits[sample.wait].call, "pause");
    EXPECT_EQ(sample.stop, wire::StopReason::kRoot);
    EXPECT_EQ(sample.stack, samples[0].stack);
    EXPECT_NE(sample.stack, recording::kNone);
  }
  EXPECT_EQ(samples.back().time_ns, 10 * kNsPerSecond);
}

TEST_F(WaitSamplerTest, AThreadThatIsAnnouncedLateLosesNothing) {
  samples_of(4 * kNsPerSecond, 2 * kNsPerSecond);
  EXPECT_EQ(waited_ns(), 4 * kNsPerSecond);
}

TEST_F(WaitSamplerTest, AThreadThatIsNotAnnouncedIsNotSampled) {
  EXPECT_TRUE(samples_of(kNsPerSecond, 2 * kNsPerSecond).empty());
}

class StoppedThreadTest : public WaitSamplerTest {
 protected:
  StoppedThreadTest()
      : WaitSamplerTest([] {
          for (volatile int turns = 0;;) turns = turns + 1;
        }) {}
  void SetUp() override {
    while (run_times(child_.pid(), child_.pid())->cpu_ns < 10 * kNsPerMs) usleep(1000);
  }
};

// The kernel shows it outside of a call, like one that waits for a page.
TEST_F(StoppedThreadTest, AThreadThatAnEngineHasStoppedDoesNotWaitForAPage) {
  ASSERT_EQ(ptrace(PTRACE_SEIZE, child_.pid(), nullptr, nullptr), 0) << std::strerror(errno);
  ASSERT_EQ(ptrace(PTRACE_INTERRUPT, child_.pid(), nullptr, nullptr), 0);
  ASSERT_EQ(waitpid(child_.pid(), nullptr, __WALL), child_.pid());
  for (const recording::Sample& sample : samples_of(kNsPerSecond, 0)) {
    EXPECT_NE(recording_.waits[sample.wait].call, "page fault");
  }
  EXPECT_EQ(waited_ns(), kNsPerSecond);
}

}  // namespace
}  // namespace sampan::sampler

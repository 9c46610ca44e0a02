#include "sampler/recorder/recording_session.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "recording/reader.h"
#include "sampler/child.h"
#include "sampler/recorder/attached_process.h"
#include "support/scratch_directory.h"

namespace sampan::sampler {
namespace {

class NoSource : public Source {
 public:
  void read(MonotonicNs) override {}
  void set_rate(uint32_t) override {}
  uint64_t cost_ns() const override { return 0; }
};

class RecordingSessionTest : public testing::Test {
 protected:
  RecordingSessionTest() {
    session_.start(std::make_unique<NoSource>());
    session_.set_root(child_.pid());
  }

  static recording::Session description() {
    recording::Session session;
    session.start_monotonic_ns = monotonic_ns();
    return session;
  }
  void step_until_over() {
    for (int i = 0; i < 1000 && !session_.over(); ++i) session_.step(10);
  }

  const test::ScratchDirectory directory_;
  const Child child_{[] { pause(); }};
  EventLoop loop_;
  RecordingSession session_{loop_, {directory_.file("a.sampan"), description(), {}}};
  AttachedProcesses processes_{session_, false};
};

// When descriptors have run out, that does not mean that the process has ended.
TEST_F(RecordingSessionTest, FollowsAProcessThatItHasNoDescriptorFor) {
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit none{0, before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  processes_.process(child_.pid());
  for (int i = 0; i < 20; ++i) session_.step(20);  // longer than an exit state is asked for
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(session_.processes(), 1u);
  kill(child_.pid(), SIGKILL);
  step_until_over();
  EXPECT_TRUE(session_.root_ended());
  EXPECT_EQ(session_.root_exit().signal, SIGKILL);
}

TEST_F(RecordingSessionTest, LeavesAProcessThatLivesOn) {
  processes_.process(child_.pid());
  session_.step(10);
  EXPECT_EQ(session_.detach(), 1u);
  session_.finish({});
  EXPECT_FALSE(session_.root_ended());
  const auto recording = recording::read(directory_.file("a.sampan"));
  ASSERT_EQ(recording.process_ends.size(), 1u);
  EXPECT_TRUE(recording.process_ends[0].lives_on);
}

// A failure is kept until the end; what does not record goes on.
TEST_F(RecordingSessionTest, SaysAtItsEndThatItFailed) {
  processes_.process(child_.pid());
  session_.attempt([] { throw Error("no space left"); });
  session_.attempt([] { FAIL() << "called after a failure"; });
  EXPECT_TRUE(session_.over());
  EXPECT_THROW(session_.flush(), Error);
  kill(child_.pid(), SIGKILL);
  for (int i = 0; i < 1000 && !session_.root_ended(); ++i) session_.step(10);
  EXPECT_EQ(session_.root_exit().signal, SIGKILL);
  session_.detach();
  EXPECT_THROW(session_.finish({}), Error);
}

}  // namespace
}  // namespace sampan::sampler

#include "sampler/rings/lock_recorder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "recording/reader.h"

namespace sampan::sampler {
namespace {

using recording::kNone;
using recording::Recording;
using wire::LockKind;

constexpr uint64_t kStart = 1'000;
constexpr uint64_t kLock = 0x5000;

class LockRecorderTest : public testing::Test {
 protected:
  LockRecorderTest() {
    std::filesystem::remove(path_);
    writer_.emplace(path_, recording::Session{});
    const uint32_t process = writer_->add(recording::Process{});
    for (int32_t tid = 0; tid < 4; ++tid) {
      recording::Thread thread;
      thread.process = process;
      thread.tid = tid;
      threads_.push_back(writer_->add(thread));
    }
    stacks_.emplace(*writer_);
    locks_.emplace(*writer_, *stacks_, LockRecorder::Process{process, {kStart}});
  }
  ~LockRecorderTest() override { std::filesystem::remove(path_); }

  static LockWaitRecord wait(uint64_t begin, uint64_t first, uint64_t last,
                             LockKind kind = LockKind::kMutex) {
    return {MonotonicNs::at(kStart + begin),
            MonotonicNs::at(kStart + begin + 100),
            10,
            Avma::at(kLock),
            kind,
            first,
            last,
            wire::StopReason::kRoot};
  }
  void release(uint32_t thread, uint64_t time, uint64_t number, uint64_t lock = kLock) {
    locks_->add(ReleaseRecord{MonotonicNs::at(kStart + time), number, Avma::at(lock),
                              wire::StopReason::kRoot},
                {threads_[thread], kNone});
  }
  void round(uint64_t time) { locks_->end_round(MonotonicNs::at(kStart + time)); }
  Recording finish() {
    locks_->end_segment();
    writer_->finish({});
    return recording::read(path_);
  }

  const std::string path_ = testing::TempDir() + "locks-" + std::to_string(getpid()) + ".sampan";
  std::optional<recording::Writer> writer_;
  std::vector<uint32_t> threads_;
  std::optional<StackRecorder> stacks_;
  std::optional<LockRecorder> locks_;
};

TEST_F(LockRecorderTest, FindsReleasesThatAreReadLater) {
  locks_->add(wait(10, 7, 8), {threads_[0], kNone});
  release(1, 50, 7);
  round(200);
  release(2, 100, 8);
  round(300);
  const Recording all = finish();
  ASSERT_EQ(all.lock_waits.size(), 1u);
  EXPECT_EQ(all.threads[all.lock_waits[0].holder].tid, 1);
  EXPECT_EQ(all.threads[all.lock_waits[0].waker].tid, 2);
  EXPECT_EQ(all.lock_waits[0].woken_ns, 100u);
  EXPECT_EQ(all.lock_waits[0].duration_ns, 100u);
}

TEST_F(LockRecorderTest, GivesUpAfterASecond) {
  locks_->add(wait(10, 7, 8), {threads_[0], kNone});
  round(200);
  round(1'500'000'000);
  release(1, 50, 7);
  const Recording all = finish();
  ASSERT_EQ(all.lock_waits.size(), 1u);
  EXPECT_EQ(all.lock_waits[0].holder, kNone);
  EXPECT_EQ(all.lock_waits[0].waker, kNone);
}

TEST_F(LockRecorderTest, BelievesNoReleaseOfAnotherLock) {
  release(1, 50, 7, kLock + 8);
  release(1, 50, 8, kLock - 8);
  locks_->add(wait(10, 7, 8), {threads_[0], kNone});
  const Recording all = finish();
  EXPECT_EQ(all.lock_waits.at(0).holder, kNone);
  EXPECT_EQ(all.lock_waits.at(0).waker, kNone);
}

// Numbers are given to all arrivals, and the last one is recorded.
TEST_F(LockRecorderTest, FindsTheLastArrivalAtABarrier) {
  release(1, 5, 3);  // of the round before
  release(2, 80, 7);
  locks_->add(wait(10, 5, 9, LockKind::kBarrier), {threads_[0], kNone});
  locks_->add(wait(10, 5, 6, LockKind::kBarrier), {threads_[3], kNone});
  const Recording all = finish();
  EXPECT_EQ(all.threads[all.lock_waits.at(0).waker].tid, 2);
  EXPECT_EQ(all.lock_waits.at(0).holder, kNone);
  EXPECT_EQ(all.lock_waits.at(1).waker, kNone);
}

// Some releases of a lock that is released all the time are recorded.
TEST_F(LockRecorderTest, TakesTheNearestReleasesOfTheWait) {
  release(1, 5, 3);
  release(2, 40, 6);
  release(3, 200, 8);  // it has read the clock late
  locks_->add(wait(10, 4, 9), {threads_[0], kNone});
  const Recording all = finish();
  EXPECT_EQ(all.threads[all.lock_waits.at(0).holder].tid, 2);
  EXPECT_EQ(all.threads[all.lock_waits.at(0).waker].tid, 3);
  EXPECT_EQ(all.lock_waits.at(0).woken_ns, 110u);
}

TEST_F(LockRecorderTest, AnEventHasNoHolder) {
  release(1, 50, 7);
  locks_->add(wait(10, 7, 7, LockKind::kSemaphore), {threads_[0], kNone});
  const Recording all = finish();
  EXPECT_EQ(all.lock_waits.at(0).holder, kNone);
  EXPECT_EQ(all.threads[all.lock_waits.at(0).waker].tid, 1);
}

TEST_F(LockRecorderTest, HasOneRowForALockUntilItIsMadeAnew) {
  locks_->add(wait(10, 0, 0, LockKind::kReadLock), {threads_[0], kNone});
  locks_->add(wait(20, 0, 0, LockKind::kWriteLock), {threads_[0], kNone});
  locks_->add(LockOriginRecord{MonotonicNs::at(kStart + 25), Avma::at(kLock), LockKind::kWriteLock,
                               Avma::at(0x10)});
  locks_->add(wait(30, 0, 0, LockKind::kWriteLock), {threads_[0], kNone});
  locks_->add(wait(40, 0, 0, LockKind::kMutex), {threads_[0], kNone});
  const Recording all = finish();
  ASSERT_EQ(all.locks.size(), 3u);
  EXPECT_EQ(all.lock_waits[0].lock, all.lock_waits[1].lock);
  EXPECT_NE(all.lock_waits[1].lock, all.lock_waits[2].lock);
  EXPECT_EQ(all.locks[0].kind, LockKind::kWriteLock);
  EXPECT_EQ(all.locks[0].origin, kNone);
  EXPECT_EQ(all.frames.at(all.locks[1].origin).address, 0x10u);
  EXPECT_EQ(all.lock_waits[0].kind, LockKind::kReadLock);
}

TEST_F(LockRecorderTest, IsBounded) {
  constexpr uint64_t kMany = 70'000;
  for (uint64_t i = 0; i < kMany; ++i) {
    LockWaitRecord one = wait(10, 1, 1);
    one.lock = Avma::at(i);
    locks_->add(one, {threads_[0], kNone});
    release(1, 50, i + 1);
  }
  EXPECT_GT(locks_->lost(), 0u);
  EXPECT_EQ(finish().lock_waits.size(), kMany - locks_->lost());
}

}  // namespace
}  // namespace sampan::sampler

#include "preload/wrappers/lock_questions.h"

#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "preload/wrappers/lock_origins.h"

namespace sampan::preload {
namespace {

using Group = LockQuestions::Group;

TEST(LockQuestions, AReleaseIsNumberedWhileSomebodyWaits) {
  const auto questions = std::make_unique<LockQuestions>();
  EXPECT_FALSE(questions->any(Group::kLocks));
  EXPECT_EQ(questions->release(0x1000).number, 0u);
  const LockQuestions::Question first = questions->ask(0x1000, Group::kLocks, 0);
  EXPECT_TRUE(questions->any(Group::kLocks));
  EXPECT_FALSE(questions->any(Group::kConditions));
  EXPECT_EQ(questions->release(0x2000).number, 0u);
  const uint64_t holder = questions->release(0x1000).number;
  EXPECT_NE(holder, 0u);
  const LockQuestions::Question second = questions->ask(0x1000, Group::kLocks, 0);
  const uint64_t next = questions->release(0x1000).number;
  EXPECT_GT(next, holder);
  const LockQuestions::Answer answer = questions->close(first, 0);
  EXPECT_EQ(answer.first, holder);
  EXPECT_EQ(answer.last, next);
  EXPECT_EQ(questions->close(second, 0).first, next);
  EXPECT_FALSE(questions->any(Group::kLocks));
  EXPECT_EQ(questions->release(0x1000).number, 0u);
}

TEST(LockQuestions, AWaitWithoutAReleaseHasNoAnswer) {
  const auto questions = std::make_unique<LockQuestions>();
  const LockQuestions::Question before = questions->ask(0x1000, Group::kLocks, 0);
  questions->release(0x1000);
  questions->close(before, 0);
  const LockQuestions::Answer none = questions->close(questions->ask(0x1000, Group::kLocks, 0), 0);
  EXPECT_EQ(none.first, 0u);
  EXPECT_EQ(none.last, 0u);
}

// The first release after a wait is long enough is recorded, and else one now and then.
TEST(LockQuestions, NotEveryReleaseIsRecorded) {
  constexpr uint64_t kNow = 1'000'000'000, kApart = LockQuestions::kApartNs;
  const auto questions = std::make_unique<LockQuestions>();
  questions->ask(0x1000, Group::kLocks, kNow + 50);
  const auto is_recorded = [&](uint64_t now_ns) {
    return questions->is_recorded(questions->release(0x1000), now_ns);
  };
  EXPECT_TRUE(is_recorded(kNow)) << "the first one";
  EXPECT_FALSE(is_recorded(kNow + 49));
  EXPECT_TRUE(is_recorded(kNow + 50)) << "a wait is long enough";
  EXPECT_FALSE(is_recorded(kNow + 51));
  questions->ask(0x1000, Group::kLocks, kNow + 70);
  questions->ask(0x1000, Group::kLocks, kNow + 60);
  questions->ask(0x1000, Group::kLocks, kNow + 80);
  EXPECT_FALSE(is_recorded(kNow + 59));
  EXPECT_TRUE(is_recorded(kNow + 60));
  EXPECT_FALSE(is_recorded(kNow + 59 + kApart));
  EXPECT_TRUE(is_recorded(kNow + 60 + kApart)) << "long after the last one";
  // A wait that is over, and one that goes on, of which the latest due time is known.
  const LockQuestions::Question over = questions->ask(0x1000, Group::kLocks, kNow + 61 + kApart);
  questions->close(over, kNow + 70 + kApart);
  EXPECT_FALSE(is_recorded(kNow + 69 + kApart));
  EXPECT_TRUE(is_recorded(kNow + 70 + kApart));
  EXPECT_FALSE(questions->is_recorded({}, kNow + 3 * kApart));
}

TEST(LockQuestions, MoreThanThereIsRoomForAreNotAsked) {
  const auto questions = std::make_unique<LockQuestions>();
  std::vector<LockQuestions::Question> asked;
  for (uint64_t address = 8; address < 8 * 10'000; address += 8) {
    const LockQuestions::Question question = questions->ask(address, Group::kSemaphores, 0);
    if (question.address != 0) asked.push_back(question);
  }
  EXPECT_GT(asked.size(), 2'000u);
  EXPECT_LE(asked.size(), 4'096u);
  std::set<uint64_t> numbers;
  for (const LockQuestions::Question& question : asked) {
    numbers.insert(questions->release(question.address).number);
  }
  EXPECT_EQ(numbers.size(), asked.size());
  for (const LockQuestions::Question& question : asked) questions->close(question, 0);
  EXPECT_FALSE(questions->any(Group::kSemaphores));
  EXPECT_EQ(questions->close({}, 0).last, 0u);
}

// In a forked child the memory is wiped while the thread is in a wait.
TEST(LockQuestions, AQuestionThatWasWipedIsClosed) {
  auto questions = std::make_unique<LockQuestions>();
  const LockQuestions::Question question = questions->ask(0x1000, Group::kLocks, 0);
  questions = std::make_unique<LockQuestions>();
  EXPECT_EQ(questions->close(question, 0).last, 0u);
  EXPECT_FALSE(questions->any(Group::kLocks));
}

// Threads that wait for few locks. Each lock knows who released it last, so whoever gets it can compare.
TEST(LockQuestions, TellWhoReleasedUnderManyThreads) {
  const auto questions = std::make_unique<LockQuestions>();
  constexpr unsigned kLocks = 3;
  struct Lock {
    std::mutex mutex;
    uint64_t last_number = 0;  // that a release had; 0: nobody asked then
  };
  std::vector<Lock> locks(kLocks);
  std::atomic<unsigned> wrong = 0, right = 0;
  std::vector<std::thread> threads;
  for (unsigned number = 0; number < 4; ++number) {
    threads.emplace_back([&, number] {
      for (unsigned i = 0; i < 20'000; ++i) {
        Lock& lock = locks[(i * 7 + number) % kLocks];
        const auto address = reinterpret_cast<uint64_t>(&lock);
        if (!lock.mutex.try_lock()) {
          const LockQuestions::Question question = questions->ask(address, Group::kLocks, 0);
          lock.mutex.lock();
          const LockQuestions::Answer answer = questions->close(question, 0);
          if (answer.last != 0) (answer.last == lock.last_number ? right : wrong) += 1;
        }
        if (i % 64 == 0) std::this_thread::yield();
        const uint64_t release =
            questions->any(Group::kLocks) ? questions->release(address).number : 0;
        if (release != 0) lock.last_number = release;
        lock.mutex.unlock();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_GT(right, 0u);
  EXPECT_FALSE(questions->any(Group::kLocks));
}

TEST(LockOrigins, AreTakenOnce) {
  int lock = 0, other = 0;
  const auto address = reinterpret_cast<uint64_t>(&lock);
  const auto* const caller = reinterpret_cast<const void*>(0x1001);
  EXPECT_EQ(take_lock_origin(address), 0u);
  note_lock_origin(&lock, caller);
  forget_lock_origin(&other);
  EXPECT_EQ(take_lock_origin(address), 0x1000u);
  EXPECT_EQ(take_lock_origin(address), 0u);
  give_back_lock_origin(address);
  EXPECT_EQ(take_lock_origin(address), 0x1000u);
  lock_origins_after_fork();
  EXPECT_EQ(take_lock_origin(address), 0x1000u);
  note_lock_origin(&lock, caller);
  EXPECT_EQ(take_lock_origin(address), 0x1000u);
  note_lock_origin(&lock, caller);
  forget_lock_origin(&lock);
  EXPECT_EQ(take_lock_origin(address), 0u);
}

}  // namespace
}  // namespace sampan::preload

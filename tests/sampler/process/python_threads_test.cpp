#include "sampler/process/python_threads.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

#include "process/made_interpreter.h"

namespace sampan::sampler {
namespace {

struct Threads : testing::Test {
  using Made = MadeInterpreter;
  Made made;
  PythonThreads threads{getpid(), made.interpreter};
  const pid_t tid = static_cast<pid_t>(syscall(SYS_gettid));
  static constexpr size_t kOther = 0xa00;
};

TEST_F(Threads, AreFoundByTheirTid) {
  EXPECT_EQ(threads.find(tid), made.at(Made::kThread));
  EXPECT_EQ(threads.find(1), 0u);
}

TEST_F(Threads, ANewOneIsFoundAndTheOldStays) {
  EXPECT_EQ(threads.find(tid), made.at(Made::kThread));
  std::thread other([&] {
    const auto its_tid = static_cast<pid_t>(syscall(SYS_gettid));
    EXPECT_EQ(threads.find(its_tid), 0u);
    made.add_thread(kOther, tid);  // as long as its maker makes it
    EXPECT_EQ(threads.find(its_tid), 0u);
    made.put(kOther + 160, static_cast<uint64_t>(its_tid));
    EXPECT_EQ(threads.find(its_tid), made.at(kOther));
    EXPECT_EQ(threads.find(tid), made.at(Made::kThread));
  });
  other.join();
}

TEST_F(Threads, AllStatesAreListedByThread) {
  const Avma main = Avma::at(made.at(Made::kMain));
  const PythonThreadState first{tid, Avma::at(made.at(Made::kThread)), main};
  EXPECT_EQ(threads.all(), std::vector{first});
  made.add_thread(kOther, tid);
  const PythonThreadState second{tid, Avma::at(made.at(kOther)), main};
  EXPECT_EQ(threads.all(), (std::vector{first, second}));
  made.put(kOther + 160, 1);  // of no thread of this process
  EXPECT_EQ(threads.all(), std::vector{first});
}

TEST_F(Threads, OneThatGetsItsIdLaterIsFound) {
  made.put(Made::kThread + 160, 0);
  EXPECT_EQ(threads.find(tid), 0u);
  made.put(Made::kThread + 160, static_cast<uint64_t>(tid));
  EXPECT_EQ(threads.find(tid), made.at(Made::kThread));
}

TEST_F(Threads, OneThatIsDroppedFromTheListIsGone) {
  EXPECT_EQ(threads.find(tid), made.at(Made::kThread));
  made.put(Made::kMain + 32, 0);
  EXPECT_EQ(threads.find(tid), 0u);
}

// As in a program of several interpreters.
TEST_F(Threads, OfSeveralStatesTheOneWithFramesCounts) {
  made.add_thread(kOther, tid);
  EXPECT_EQ(threads.find(tid), made.at(Made::kThread));
  made.put(kOther + made.interpreter.layout.thread_frame, made.at(Made::kChunk));
  EXPECT_EQ(threads.find(tid), PythonThreads::kSeveral);
  made.put(Made::kThread + made.interpreter.layout.thread_frame, 0);
  EXPECT_EQ(threads.find(tid), made.at(kOther));
}

// After a fork.
TEST_F(Threads, TheCLibraryKnowsTheTidToo) {
  made.put(Made::kThread + 160, 1);
  made.put(Made::kThread + 152, static_cast<uint64_t>(pthread_self()));
  EXPECT_EQ(threads.find(tid), made.at(Made::kThread));
}

TEST_F(Threads, ListsWithoutAnEndAreBounded) {
  made.put(Made::kThread + 8, made.at(Made::kThread));
  made.put(Made::kMain + 24, made.at(Made::kMain));
  EXPECT_EQ(threads.find(1), 0u);
  threads.find(tid);
}

}  // namespace
}  // namespace sampan::sampler

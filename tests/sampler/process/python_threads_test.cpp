#include "sampler/process/python_threads.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "process/made_interpreter.h"

namespace sampan::sampler {
namespace {

struct Threads : testing::Test {
  using Made = MadeInterpreter;
  Made made;
  PythonThreads threads{getpid(), made.interpreter};
  const pid_t tid = static_cast<pid_t>(syscall(SYS_gettid));
  static constexpr size_t kOther = 0xa00;

  using States = std::vector<uint64_t>;
  States find(pid_t of) {
    States states;
    threads.find(of, states);
    std::ranges::sort(states);
    return states;
  }
};

TEST_F(Threads, AreFoundByTheirTid) {
  EXPECT_EQ(find(tid), States{made.at(Made::kThread)});
  EXPECT_EQ(find(1), States());
}

TEST_F(Threads, ANewOneIsFoundAndTheOldStays) {
  EXPECT_EQ(find(tid), States{made.at(Made::kThread)});
  std::thread other([&] {
    const auto its_tid = static_cast<pid_t>(syscall(SYS_gettid));
    EXPECT_EQ(find(its_tid), States());
    made.add_thread(kOther, tid);  // as long as its maker makes it
    EXPECT_EQ(find(its_tid), States());
    made.put(kOther + 160, static_cast<uint64_t>(its_tid));
    EXPECT_EQ(find(its_tid), States{made.at(kOther)});
    EXPECT_EQ(find(tid), States{made.at(Made::kThread)});
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
  EXPECT_EQ(find(tid), States());
  made.put(Made::kThread + 160, static_cast<uint64_t>(tid));
  EXPECT_EQ(find(tid), States{made.at(Made::kThread)});
}

TEST_F(Threads, OneThatIsDroppedFromTheListIsGone) {
  EXPECT_EQ(find(tid), States{made.at(Made::kThread)});
  made.put(Made::kMain + 32, 0);
  EXPECT_EQ(find(tid), States());
}

// As in a program of several interpreters.
TEST_F(Threads, OfSeveralStatesThoseWithFramesCount) {
  made.add_thread(kOther, tid);
  EXPECT_EQ(find(tid), States{made.at(Made::kThread)});
  made.put(kOther + made.interpreter.layout.thread_frame, made.at(Made::kChunk));
  EXPECT_EQ(find(tid), (States{made.at(Made::kThread), made.at(kOther)}));
  made.put(Made::kThread + made.interpreter.layout.thread_frame, 0);
  EXPECT_EQ(find(tid), States{made.at(kOther)});
}

// The thread has begun to run a new interpreter, which is the first of the list.
TEST_F(Threads, OneInANewInterpreterIsFound) {
  constexpr size_t kNew = 0x600;
  EXPECT_EQ(find(tid), States{made.at(Made::kThread)});
  EXPECT_FALSE(threads.has_subinterpreters());
  made.put(kOther + 160, static_cast<uint64_t>(tid));
  made.put(kOther + made.interpreter.layout.thread_frame, made.at(Made::kChunk));
  made.put(kNew + 32, made.at(kOther));
  made.put(kNew + 24, made.at(Made::kMain));
  made.put(Made::kRuntime + 16, made.at(kNew));
  EXPECT_EQ(find(tid), (States{made.at(Made::kThread), made.at(kOther)}));
  EXPECT_TRUE(threads.has_subinterpreters());
}

// After a fork.
TEST_F(Threads, TheCLibraryKnowsTheTidToo) {
  made.put(Made::kThread + 160, 1);
  made.put(Made::kThread + 152, static_cast<uint64_t>(pthread_self()));
  EXPECT_EQ(find(tid), States{made.at(Made::kThread)});
}

TEST_F(Threads, ListsWithoutAnEndAreBounded) {
  made.put(Made::kThread + 8, made.at(Made::kThread));
  made.put(Made::kMain + 24, made.at(Made::kMain));
  EXPECT_EQ(find(1), States());
  find(tid);
}

}  // namespace
}  // namespace sampan::sampler

#include "wire/drum.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <thread>

namespace sampan::wire {
namespace {

Drum drum;
std::atomic<bool> in_a_call;
std::atomic<uint64_t> beats, met;  // beats that were taken, and those of them that met a call

void take_beat(int) {
  ++beats;
  if (in_a_call) ++met;
  drum.due.store(0);
}

// With a real signal, as in the target.
TEST(Drum, NoBeatMeetsACall) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the sanitizer's runtime keeps signals back until a call";
#endif
  struct sigaction action {};
  action.sa_handler = take_beat;
  action.sa_flags = SA_RESTART;
  struct sigaction before {};
  ASSERT_EQ(sigaction(SIGURG, &action, &before), 0);
  const pid_t tid = gettid();
  drum.tid = tid;
  std::atomic<bool> over = false;
  std::atomic<uint64_t> refused = 0;
  std::thread drummer([&] {
    while (!over) {
      for (int pause = 0; pause < 500; ++pause) asm volatile("");
      if (drum.due.load() != 0) continue;
      refused +=
          !beat(drum, tid, [tid] { return syscall(SYS_tgkill, getpid(), tid, SIGURG) == 0; });
    }
  });
  uint64_t given_up = 0;  // because the drummer had no CPU for long; its beat may come then
  while (beats < 2000 || refused < 2000) {
    if (drum.tid == 0) {
      ++given_up;
      drum.tid = tid;
    }
    const uint32_t outer = enter_call(drum);
    in_a_call = true;
    syscall(SYS_getppid);
    in_a_call = false;
    leave_call(drum, outer);
    for (int work = 0; work < 1000; ++work) asm volatile("");
  }
  over = true;
  drummer.join();
  leave_drummer(drum);
  sigaction(SIGURG, &before, nullptr);
  EXPECT_LE(met, given_up);
  RecordProperty("given_up", static_cast<int>(given_up));
}

TEST(Drum, CallsNest) {
  Drum own{};
  const uint32_t outer = enter_call(own);
  const uint32_t inner = enter_call(own);
  leave_call(own, inner);
  own.tid = 7;
  EXPECT_FALSE(beat(own, 7, [] { return true; }));
  leave_call(own, outer);
  EXPECT_TRUE(beat(own, 7, [] { return true; }));
  EXPECT_EQ(own.due, 1u);
  EXPECT_EQ(own.awake, 1u);
}

TEST(Drum, NothingIsDueThatWasNotSent) {
  Drum own{};
  own.tid = 7;
  EXPECT_FALSE(beat(own, 7, [] { return false; }));
  EXPECT_EQ(own.due, 0u);
  EXPECT_EQ(own.beating, 0u);
  EXPECT_FALSE(beat(own, 8, [] { return true; }));
  leave_drummer(own);
  EXPECT_FALSE(beat(own, 7, [] { return true; }));
}

// The drummer was stopped in the middle of a beat, or its signal never comes.
TEST(Drum, AThreadDoesNotWaitForEver) {
  for (std::atomic<uint32_t> Drum::*stuck : {&Drum::beating, &Drum::due}) {
    Drum own{};
    own.tid = 7;
    own.*stuck = 1;
    enter_call(own);
    EXPECT_EQ(own.tid, 0);
    EXPECT_EQ(own.*stuck, 0u);
  }
}

}  // namespace
}  // namespace sampan::wire

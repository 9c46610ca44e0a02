// The walker in this process, without an oracle: unloading, use of stack.
#include "unwind/walker.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#include <cstring>

namespace sampan::unwind {
namespace {

Walker walker;
bool with_walk;
WalkResult last_result;

void on_signal(int, siginfo_t*, void* context) {
  if (!with_walk) return;
  static uint64_t frames[256];
  const auto& stop = *static_cast<const ucontext_t*>(context);
  static Registers registers;
  for (const unsigned number : {kPc, kSp, kFp, kPackedOther}) {
    registers.value[number] = register_in(stop, number);
  }
  last_result = walker.walk(registers, {0, 0, true}, frames);
}

// How far a signal handler with or without a walk goes down on an alternate stack.
size_t stack_use(bool walking) {
  static unsigned char stack[64 * 1024];
  std::memset(stack, 0xa5, sizeof(stack));
  stack_t alternate{stack, 0, sizeof(stack)};
  struct sigaction action {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  EXPECT_EQ(sigaltstack(&alternate, nullptr), 0);
  EXPECT_EQ(sigaction(SIGUSR1, &action, nullptr), 0);
  with_walk = walking;
  raise(SIGUSR1);
  stack_t none{nullptr, SS_DISABLE, 0};
  EXPECT_EQ(sigaltstack(&none, nullptr), 0);
  size_t untouched = 0;
  while (untouched < sizeof(stack) && stack[untouched] == 0xa5) ++untouched;
  return sizeof(stack) - untouched;
}

TEST(WalkerTest, NeedsLittleStack) {
#ifndef __OPTIMIZE__
  GTEST_SKIP() << "only with optimization";
#endif
  ASSERT_TRUE(walker.start(find_object_by_loader()));
  walker.begin_unload();
  walker.end_unload();  // empties the cache: every row by the slow path
  const size_t empty = stack_use(false);
  const size_t full = stack_use(true);
  EXPECT_EQ(last_result.stop, wire::StopReason::kRoot);
  RecordProperty("bytes", static_cast<int>(full - empty));
#if defined(__aarch64__)
  constexpr size_t kMost = 2000;  // twice as many registers
#elif defined(__GNUC__) && __GNUC__ >= 14
  constexpr size_t kMost = 1480;  // its frames are larger
#else
  constexpr size_t kMost = 1400;
#endif
  EXPECT_LE(full - empty, kMost);
}

TEST(WalkerTest, WhileUnloadingOnlyCachedRows) {
  ASSERT_TRUE(walker.start(find_object_by_loader()));
  walker.begin_unload();
  walker.begin_unload();
  walker.end_unload();  // nests; forgets all rows
  stack_use(true);
  EXPECT_EQ(last_result.stop, wire::StopReason::kUnloading);
  EXPECT_EQ(last_result.depth, 1u);
  walker.end_unload();
  stack_use(true);
  EXPECT_EQ(last_result.stop, wire::StopReason::kRoot);
}

}  // namespace
}  // namespace sampan::unwind

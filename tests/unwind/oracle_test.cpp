// The walker and libunwind see the same stacks in this process.
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/time.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "oracle.h"
#include "unwind/walker.h"

namespace sampan::unwind {
namespace {

constexpr size_t kFrames = 2048;

struct Comparison {
  bool done;
  WalkResult ours;
  OracleResult theirs;
  uint64_t our_frames[kFrames];
  uint64_t their_frames[kFrames];
};

Walker walker;
LastWalk last_walk;
Comparison comparison;
StackBounds bounds;

StackBounds stack_of_this_thread() {
  pthread_attr_t attributes;
  pthread_getattr_np(pthread_self(), &attributes);
  void* low = nullptr;
  size_t size = 0;
  pthread_attr_getstack(&attributes, &low, &size);
  pthread_attr_destroy(&attributes);
  const uint64_t start = reinterpret_cast<uint64_t>(low);
  return {start, start + size, true};
}

void on_signal(int, siginfo_t*, void* context) {
  const auto& stop = *static_cast<const ucontext_t*>(context);
  comparison.ours = walker.walk(registers_of(stop), bounds, comparison.our_frames, &last_walk);
  comparison.theirs = oracle_walk(stop, comparison.their_frames);
  comparison.done = true;
}

// Stops here, with the signal's frame on an alternate stack or not.
[[gnu::noinline]] void stop_here() {
  comparison.done = false;
  raise(SIGUSR1);
}

void expect_equal_stacks() {
  ASSERT_TRUE(comparison.done);
  EXPECT_EQ(comparison.ours.stop, wire::StopReason::kRoot);
  const std::vector<uint64_t> ours(comparison.our_frames,
                                   comparison.our_frames + comparison.ours.depth);
  const std::vector<uint64_t> theirs(comparison.their_frames,
                                     comparison.their_frames + comparison.theirs.depth);
  EXPECT_EQ(ours, theirs);
}

class OracleTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(walker.start(find_object_by_loader()));
    bounds = stack_of_this_thread();
    struct sigaction action {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO;
    ASSERT_EQ(sigaction(SIGUSR1, &action, nullptr), 0);
  }
};

[[gnu::noipa]] int recurse(int depth) {
  if (depth == 0) {
    stop_here();
    return 0;
  }
  const int result = recurse(depth - 1) + 1;
  asm volatile("" : : "r"(result) : "memory");  // no loop, no tail call
  return result;
}

TEST_F(OracleTest, ShortStack) {
  stop_here();
  expect_equal_stacks();
  EXPECT_GT(comparison.ours.depth, 3u);
}

TEST_F(OracleTest, RecursionOfAThousandIsComplete) {
  for (int round = 0; round < 2; ++round) {  // the second time from the cache
    EXPECT_EQ(recurse(1000), 1000);
    expect_equal_stacks();
    EXPECT_GT(comparison.ours.depth, 1001u);
  }
}

int compare_with_stop(const void* left, const void* right) {
  stop_here();
  return *static_cast<const int*>(left) - *static_cast<const int*>(right);
}

TEST_F(OracleTest, CallbackOfTheCLibrary) {
  int values[] = {3, 1, 2};
  std::qsort(values, 3, sizeof(int), compare_with_stop);
  expect_equal_stacks();
}

void handler_with_stop(int) {
  stop_here();
}

TEST_F(OracleTest, InsideASignalHandler) {
  signal(SIGUSR2, handler_with_stop);
  raise(SIGUSR2);
  expect_equal_stacks();
}

TEST_F(OracleTest, InsideASignalHandlerOnAnotherStack) {
  std::vector<char> memory(64 * 1024);
  stack_t alternate{memory.data(), 0, memory.size()};
  ASSERT_EQ(sigaltstack(&alternate, nullptr), 0);
  struct sigaction action {};
  action.sa_handler = handler_with_stop;
  action.sa_flags = SA_ONSTACK;
  ASSERT_EQ(sigaction(SIGUSR2, &action, nullptr), 0);
  raise(SIGUSR2);
  stack_t none{nullptr, SS_DISABLE, 0};
  ASSERT_EQ(sigaltstack(&none, nullptr), 0);
  expect_equal_stacks();
}

struct StopInDestructor {
  ~StopInDestructor() { stop_here(); }
};

TEST_F(OracleTest, WhileAnExceptionUnwinds) {
  try {
    StopInDestructor local;
    throw std::runtime_error("test");
  } catch (const std::exception&) {
  }
  expect_equal_stacks();
}

// A frame that aligns its stack: its CFA is an expression, or counts from another register.
[[gnu::noinline]] void realigned(size_t extra) {
  alignas(64) char local[64];
  void* dynamic = __builtin_alloca(extra);
  asm volatile("" : : "r"(local), "r"(dynamic) : "memory");
  stop_here();
}

TEST_F(OracleTest, RealignedStack) {
  for (size_t extra : {16, 100, 1000}) {
    realigned(extra);
    expect_equal_stacks();
  }
}

TEST_F(OracleTest, AnotherThread) {
  pthread_t thread;
  const auto run = [](void*) -> void* {
    bounds = stack_of_this_thread();
    recurse(10);
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, nullptr, run, nullptr), 0);
  pthread_join(thread, nullptr);
  expect_equal_stacks();
}

TEST_F(OracleTest, UnknownStackIsProbed) {
  bounds = {0, 0, true};
  recurse(100);
  expect_equal_stacks();
}

TEST_F(OracleTest, WithoutProbingAnUnknownStackIsNotRead) {
  recurse(5);  // the rows are known now
  bounds = {0, 0, false};
  stop_here();
  EXPECT_EQ(comparison.ours.stop, wire::StopReason::kBadAddress);
  EXPECT_EQ(comparison.ours.depth, 1u);
}

// Returns from a call that went nowhere.
void return_from_call(mcontext_t& machine) {
#if defined(__aarch64__)
  machine.pc = machine.regs[kLr];
#else
  uint64_t return_address;
  std::memcpy(&return_address, reinterpret_cast<void*>(machine.gregs[REG_RSP]), 8);
  machine.gregs[REG_RIP] = static_cast<greg_t>(return_address);
  machine.gregs[REG_RSP] += 8;
#endif
}

void (*volatile null_function)() = nullptr;
void on_fault(int number, siginfo_t* info, void* context) {
  on_signal(number, info, context);
  return_from_call(static_cast<ucontext_t*>(context)->uc_mcontext);
}

TEST_F(OracleTest, CallThroughANullPointer) {
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO;
  struct sigaction before {};
  ASSERT_EQ(sigaction(SIGSEGV, &action, &before), 0);
  comparison.done = false;
  null_function();
  sigaction(SIGSEGV, &before, nullptr);
  ASSERT_TRUE(comparison.done);
  const uint64_t fault_root = comparison.our_frames[comparison.ours.depth - 1];
  EXPECT_GT(comparison.ours.depth, 5u);
  EXPECT_EQ(comparison.ours.stop, wire::StopReason::kRoot);
  EXPECT_EQ(comparison.our_frames[0], 0u);
  stop_here();
  EXPECT_EQ(comparison.our_frames[comparison.ours.depth - 1], fault_root);
}

TEST_F(OracleTest, InsideTheVdso) {
  // The vDSO runs for some tens of nanoseconds: stop at random until it is hit.
  static std::atomic<unsigned> in_vdso, complete;
  static Registers registers;
  in_vdso = complete = 0;
  const auto handler = [](int, siginfo_t*, void* context) {
    static uint64_t frames[kFrames];
    registers = registers_of(*static_cast<const ucontext_t*>(context));
    const WalkResult result = walker.walk(registers, bounds, frames);
    if (registers.value[kPc] - getauxval(AT_SYSINFO_EHDR) < 0x2000) {
      ++in_vdso;
      if (result.stop == wire::StopReason::kRoot) ++complete;
    }
  };
  struct sigaction action {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  ASSERT_EQ(sigaction(SIGPROF, &action, nullptr), 0);
  const itimerval interval{{0, 1000}, {0, 1000}};
  setitimer(ITIMER_PROF, &interval, nullptr);
  timespec now{};
  for (unsigned calls = 0; calls < 20'000'000 && in_vdso < 20; ++calls) {
    clock_gettime(CLOCK_MONOTONIC, &now);
  }
  const itimerval none{};
  setitimer(ITIMER_PROF, &none, nullptr);
  if (in_vdso == 0) GTEST_SKIP() << "no stop inside the vDSO";
  EXPECT_EQ(complete, in_vdso);
}

}  // namespace
}  // namespace sampan::unwind

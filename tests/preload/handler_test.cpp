// How much stack a sample needs. An alternate stack is filled with a pattern, a deep stack is walked,
// and the test sees how much of the pattern was overwritten, less what an empty handler overwrites.
// After abseil's stack_consumption.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cstring>
#include <vector>

#include "preload/samples/sample.h"
#include "unwind/registers.h"
#include "unwind/walker.h"

namespace sampan::preload {
namespace {

constexpr size_t kStackSize = 64 << 10;
constexpr char kPattern = 0x5a;

struct Bench {
  unwind::Walker walker;
  SampleState state{};
  wire::RingPositions positions{};
  std::vector<uint8_t> buffer = std::vector<uint8_t>(1 << 15);
  std::vector<uint64_t> frames = std::vector<uint64_t>(2048);
  std::vector<uint64_t> previous = std::vector<uint64_t>(2048);
  uint32_t depth = 0;

  Bench() {
    state.ring = {&positions, buffer};
    state.frames = frames;
    state.previous = previous;
    state.stack = {0, 0, true};
  }
};
Bench* bench;

void empty_handler(int, siginfo_t*, void*) {}

void sampling_handler(int, siginfo_t*, void* context) {
  const unwind::Registers registers =
      unwind::registers_of(*static_cast<const ucontext_t*>(context));
  const unwind::WalkResult walked =
      bench->walker.walk(registers, bench->state.stack, bench->state.frames);
  bench->depth = walked.depth;
  record_sample(bench->state, {1, 1, walked.depth, 1, walked.stop, 0});
}

__attribute__((noinline)) int raise_at_depth(int depth) {
  volatile int here = depth;
  if (depth == 0) return raise(SIGUSR1);
  return raise_at_depth(depth - 1) + here;
}

// Bytes of the alternate stack that the signal has touched.
size_t consumption(void (*handler)(int, siginfo_t*, void*)) {
  auto* low = static_cast<char*>(
      mmap(nullptr, kStackSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  memset(low, kPattern, kStackSize);
  stack_t stack{};
  stack.ss_sp = low;
  stack.ss_size = kStackSize;
  sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGUSR1, &action, nullptr);
  raise_at_depth(100);
  size_t untouched = 0;
  while (untouched < kStackSize && low[untouched] == kPattern) ++untouched;
  stack.ss_flags = SS_DISABLE;
  sigaltstack(&stack, nullptr);
  munmap(low, kStackSize);
  return kStackSize - untouched;
}

TEST(Handler, StaysWithinTwoKilobytesOfStack) {
  Bench here;
  bench = &here;
  ASSERT_TRUE(here.walker.start());
  const size_t empty = consumption(empty_handler);
  const size_t cold = consumption(sampling_handler);
  EXPECT_GE(here.depth, 100u);
  const size_t warm = consumption(sampling_handler);
  EXPECT_GT(cold, empty);
  EXPECT_LE(cold - empty, 2048u);
  EXPECT_LE(warm, cold);
  RecordProperty("bytes", static_cast<int>(cold - empty));
  bench = nullptr;
}

}  // namespace
}  // namespace sampan::preload

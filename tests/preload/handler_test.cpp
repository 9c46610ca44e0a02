// How much stack a sample needs. An alternate stack is filled with a pattern, a deep stack is walked,
// and the test sees how much of the pattern was overwritten, less what an empty handler overwrites.
// One function of the stack has no unwind information, so its instructions are followed.
// After abseil's stack_consumption.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cstring>
#include <vector>

#include "preload/process/process.h"
#include "preload/samples/sample.h"
#include "unwind/registers.h"
#include "unwind/walker.h"

// function(argument)
extern "C" int through_uncovered(int (*function)(int), int argument);
#if defined(__aarch64__)
asm(R"(
  .text
  .type through_uncovered, @function
through_uncovered:
  stp x19, x30, [sp, #-16]!
  mov x9, x0
  mov w0, w1
  blr x9
  ldp x19, x30, [sp], #16
  ret
  .size through_uncovered, . - through_uncovered
)");
#else
asm(R"(
  .text
  .type through_uncovered, @function
through_uncovered:
  push %rbx
  mov %rdi, %rax
  mov %esi, %edi
  call *%rax
  pop %rbx
  ret
  .size through_uncovered, . - through_uncovered
)");
#endif

namespace sampan::preload {

// There is no session to count it in.
void count_loss(wire::Loss, uint64_t) {}

namespace {

constexpr size_t kStackSize = 64 << 10;
constexpr char kPattern = 0x5a;

struct Bench {
  wire::RingPositions positions{};
  unwind::Walker walker;
  SampleState state{};
  unwind::WalkResult walked{};
  unwind::LastWalk last_walk{};
  std::vector<uint8_t> buffer = std::vector<uint8_t>(1 << 15);
  std::vector<uint64_t> frames = std::vector<uint64_t>(2048);
  std::vector<uint64_t> previous = std::vector<uint64_t>(2048);

  Bench() {
    state.ring = {&positions, buffer};
    state.frames = frames;
    state.previous = previous;
    state.last_walk = &last_walk;
    state.stack = {0, 0, true};
  }
};
Bench* bench;

void empty_handler(int, siginfo_t*, void*) {}

void sampling_handler(int, siginfo_t*, void* context) {
  const unwind::Registers registers =
      unwind::registers_of(*static_cast<const ucontext_t*>(context));
  const unwind::WalkResult walked = bench->walked = bench->walker.walk(
      registers, bench->state.stack, bench->state.frames, bench->state.last_walk);
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
  through_uncovered(raise_at_depth, 100);
  size_t untouched = 0;
  while (untouched < kStackSize && low[untouched] == kPattern) ++untouched;
  stack.ss_flags = SS_DISABLE;
  sigaltstack(&stack, nullptr);
  munmap(low, kStackSize);
  return kStackSize - untouched;
}

#if defined(__aarch64__)
constexpr size_t kMost = 3072;  // twice as many registers
#else
constexpr size_t kMost = 2048;
#endif

TEST(Handler, StaysWithinItsRoom) {
  Bench here;
  bench = &here;
  ASSERT_TRUE(here.walker.start(unwind::find_object_by_loader()));
  const size_t empty = consumption(empty_handler);
  const size_t cold = consumption(sampling_handler);
  EXPECT_GE(here.walked.depth, 100u);
  EXPECT_EQ(here.walked.stop, wire::StopReason::kRoot);
  const size_t warm = consumption(sampling_handler);
  EXPECT_GT(cold, empty);
  EXPECT_LE(cold - empty, kMost);
  EXPECT_LE(warm, cold);
  RecordProperty("bytes", static_cast<int>(cold - empty));
  bench = nullptr;
}

}  // namespace
}  // namespace sampan::preload

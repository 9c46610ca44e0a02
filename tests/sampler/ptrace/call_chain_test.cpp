// Chains of system calls in a process of our own that computes meanwhile. The calls are made and the
// result of the computation is right, even if the tracer is gone at once.
#include "sampler/ptrace/call_chain.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <string>

#include "sampler/process/memory_map.h"

namespace sampan::sampler {
namespace {

std::optional<MappedRange> memory_of_stack(pid_t pid) {
  for (const MappedRange& range : read_memory_map(pid)) {
    if (range.path == "[stack]") return range;
  }
  return std::nullopt;
}

// Needs many integer and vector registers: a lost one changes the result.
struct Work {
  uint64_t a = 1, b = 2, c = 3, d = 4;
  double v[4] = {1, 2, 3, 4};
  void step() {
    a = a * 6364136223846793005 + b;
    b ^= c + (a >> 7), c = c * 5 + d, d = (d << 3 | d >> 61) + a;
    for (double& each : v) each = each * 0.999 + 1.25;
  }
  bool operator==(const Work& other) const {
    return a == other.a && b == other.b && c == other.c && d == other.d && v[0] == other.v[0] &&
           v[1] == other.v[1] && v[2] == other.v[2] && v[3] == other.v[3];
  }
};

Work worked(uint64_t steps) {
  Work work;
  for (uint64_t i = 0; i < steps; ++i) work.step();
  return work;
}

class Chains : public testing::Test {
 protected:
  static constexpr uint64_t kSteps = 200'000;

  void SetUp() override {
    ASSERT_EQ(pipe(pipe_), 0);
    target_ = fork();
    ASSERT_GE(target_, 0);
    if (target_ == 0) compute();
  }
  void TearDown() override {
    kill(target_, SIGKILL);
    waitpid(target_, nullptr, __WALL);
    close(pipe_[0]);
    close(pipe_[1]);
  }

  // Repeats the same computation until SIGTERM; exits with 0 if all results were right.
  [[noreturn]] static void compute() {
    static std::atomic<bool> over;
    signal(SIGTERM, [](int) { over = true; });
    const Work truth = worked(kSteps);
    while (!over) {
      if (!(worked(kSteps) == truth)) _exit(1);
    }
    _exit(0);
  }
  void expect_right_result() {
    kill(target_, SIGTERM);
    int status = -1;
    ASSERT_EQ(waitpid(target_, &status, __WALL), target_);
    EXPECT_TRUE(WIFEXITED(status)) << status;
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }

  ThreadState stop() {
    EXPECT_EQ(ptrace(PTRACE_INTERRUPT, target_, 0, 0), 0);
    int status = 0;
    EXPECT_EQ(waitpid(target_, &status, __WALL), target_);
    ThreadState state{};
    EXPECT_EQ(ptrace(PTRACE_GETREGS, target_, 0, &state.registers), 0);
    EXPECT_EQ(ptrace(PTRACE_GETSIGMASK, target_, sizeof state.signal_mask, &state.signal_mask), 0);
    state.vectors.resize(16384);
    iovec vectors{state.vectors.data(), state.vectors.size()};
    EXPECT_EQ(ptrace(PTRACE_GETREGSET, target_, NT_X86_XSTATE, &vectors), 0);
    state.vectors.resize(vectors.iov_len);
    return state;
  }

  // An earlier chain that is not over still needs its memory.
  ThreadState stop_outside_chain() {
    const auto stack = memory_of_stack(target_);
    ThreadState state = stop();
    while (stack && state.registers.rsp < stack->start + 65536 &&
           state.registers.rsp >= stack->start) {
      EXPECT_EQ(ptrace(PTRACE_CONT, target_, 0, 0), 0);
      state = stop();
    }
    return state;
  }

  // Writes one letter for each call into the pipe.
  void begin_chain(const ThreadState& state, const std::string& letters) {
    const auto site = find_call_site(target_);
    ASSERT_TRUE(site);
    const auto stack = memory_of_stack(target_);
    ASSERT_TRUE(stack);
    CallChain chain(stack->start + 4096, letters.size());
    for (const char& letter : letters) {
      const uint64_t avma = chain.place(letter);
      chain.add(SYS_write, {static_cast<uint64_t>(pipe_[1]), avma, 1});
    }
    const CallChain::Image image = chain.finish(*site, state, SIGURG);
    ASSERT_LE(image.bytes.size(), CallChain::largest_size(letters.size(), 64 * letters.size()));
    iovec here{const_cast<std::byte*>(image.bytes.data()), image.bytes.size()};
    iovec there{reinterpret_cast<void*>(image.base), image.bytes.size()};
    ASSERT_EQ(process_vm_writev(target_, &here, 1, &there, 1, 0),
              static_cast<ssize_t>(image.bytes.size()));
    ASSERT_EQ(ptrace(PTRACE_SETREGS, target_, 0, &image.start), 0);
  }

  std::string from_pipe(size_t size) {
    std::string text(size, 0);
    EXPECT_EQ(read(pipe_[0], text.data(), size), static_cast<ssize_t>(size));
    return text;
  }

  pid_t target_ = 0;
  int pipe_[2] = {-1, -1};
};

TEST_F(Chains, MakeTheCallsInOrderAndGoOn) {
  ASSERT_EQ(ptrace(PTRACE_SEIZE, target_, 0, 0), 0);
  usleep(20'000);
  for (int i = 0; i < 50; ++i) {
    begin_chain(stop_outside_chain(), "abcd");
    ASSERT_EQ(ptrace(PTRACE_CONT, target_, 0, 0), 0);
    for (const char* letter : {"a", "b", "c", "d"}) ASSERT_EQ(from_pipe(1), letter);
  }
  stop();
  ASSERT_EQ(ptrace(PTRACE_DETACH, target_, 0, 0), 0);
  expect_right_result();
}

TEST_F(Chains, GoOnWhenTheTracerDies) {
  for (int i = 0; i < 50; ++i) {
    const pid_t tracer = fork();
    if (tracer == 0) {
      if (ptrace(PTRACE_SEIZE, target_, 0, 0) != 0) _exit(1);
      usleep(1000);
      begin_chain(stop_outside_chain(), "xy");
      kill(getpid(), SIGKILL);
    }
    int status = 0;
    waitpid(tracer, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << status;
    ASSERT_EQ(from_pipe(1), "x");
    ASSERT_EQ(from_pipe(1), "y");
  }
  expect_right_result();
}

TEST(MayHostCalls, NotWhereTheKernelBeginsACallAgain) {
  user_regs_struct registers{};
  registers.orig_rax = ~0ull;
  registers.rax = static_cast<uint64_t>(-512);
  EXPECT_TRUE(may_host_calls(registers));  // interrupted in its own code
  registers.orig_rax = SYS_read;
  EXPECT_FALSE(may_host_calls(registers));
  registers.rax = static_cast<uint64_t>(-516);
  EXPECT_FALSE(may_host_calls(registers));
  registers.rax = 17;
  EXPECT_TRUE(may_host_calls(registers));
}

}  // namespace
}  // namespace sampan::sampler

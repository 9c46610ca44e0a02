#include "sampler/process/python_runtime.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <iterator>
#include <random>

#include "process/made_interpreter.h"
#include "unwind/python_layout_check.h"

namespace sampan::sampler {
namespace {

constexpr MonotonicNs kNow = 5'000'000'000;

// Two interpreters, each with a lock of its own.
struct Runtime : testing::Test {
  using Made = MadeInterpreter;
  static constexpr size_t kOther = 0x600, kGil = 0x900, kOtherGil = 0xb00;
  Made made;

  Runtime() {
    made.interpreter.runtime_layout.gil_pointer = 40;
    made.put(Made::kMain + 24, made.at(kOther));
    made.put(Made::kMain + 40, made.at(kGil));
    made.put(kOther + 24, 0);
    made.put(kOther + 40, made.at(kOtherGil));
    made.put(kOtherGil + 8, made.at(Made::kThread));
  }
  PythonRuntime runtime() { return {getpid(), made.interpreter}; }
  Avma futex(size_t place) { return Avma::at(made.at(place)); }
};

TEST_F(Runtime, AFutexInALockIsTheGil) {
  PythonRuntime python = runtime();
  EXPECT_TRUE(python.is_gil(futex(kGil + 0x50), kNow));
  EXPECT_TRUE(python.is_gil(futex(kOtherGil + 0x54), kNow));
  EXPECT_FALSE(python.is_gil(futex(kGil - 4), kNow));
  EXPECT_FALSE(python.is_gil(futex(kOtherGil + 0x200), kNow));
}

TEST_F(Runtime, TheHolderIsTheLastOne) {
  PythonRuntime python = runtime();
  ASSERT_TRUE(python.is_gil(futex(kOtherGil), kNow));
  EXPECT_EQ(python.gil_holder(futex(kOtherGil)), static_cast<pid_t>(syscall(SYS_gettid)));
  EXPECT_EQ(python.gil_holder(futex(kGil)), std::nullopt);
  EXPECT_EQ(python.gil_holder(futex(kOther)), std::nullopt);
}

TEST_F(Runtime, AListWithoutAnEndIsBounded) {
  made.put(kOther + 24, made.at(Made::kMain));
  PythonRuntime python = runtime();
  EXPECT_TRUE(python.is_gil(futex(kGil), kNow));
}

TEST_F(Runtime, DamagedMemoryIsHarmless) {
  std::mt19937 random(2);
  const std::vector<uint8_t> whole = made.memory();
  for (int round = 0; round < 5000; ++round) {
    made.memory() = whole;
    for (int change = 0; change < 3; ++change) {
      const uint64_t values[] = {0, UINT64_MAX, random(), made.at(random() % Made::kSize)};
      made.put(random() % 0xc00 & ~size_t{7}, values[random() % std::size(values)]);
    }
    PythonRuntime python = runtime();
    python.is_gil(futex(kOtherGil), kNow);
    python.gil_holder(futex(kOtherGil));
  }
}

// Words that are pointers, offsets, or nothing.
struct RandomMemory {
  std::mt19937 random{3};
  uint64_t reads = 0;

  template <typename T>
  bool read(uint64_t, T& value) {
    ++reads;
    const uint64_t words[] = {0,           8, 72, random(), uint64_t{random()} << 16,
                              0x6f635f6f63 /* co_co */};
    const uint64_t word = words[random() % std::size(words)];
    std::memcpy(&value, &word, sizeof value);
    return random() % 16 != 0;
  }
};

TEST(PythonLayoutCheck, RandomMemoryHasNoLayoutAndBoundsTheReads) {
  for (const unwind::PythonLayout& layout : unwind::kPythonLayouts) {
    for (unsigned round = 0; round < 500; ++round) {
      RandomMemory memory;
      memory.random.seed(round);
      const unwind::PythonLayoutCheck check(memory, layout, 0x1000, 0x2000);
      EXPECT_FALSE(check.holds());
      unwind::PythonRuntimeLayout runtime;
      check.runtime_layout(runtime);
      EXPECT_LT(memory.reads, 2000u);
    }
  }
}

}  // namespace
}  // namespace sampan::sampler

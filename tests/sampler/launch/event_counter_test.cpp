#include "sampler/launch/event_counter.h"

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "sampler/launch/launch.h"

namespace sampan::sampler {
namespace {

struct Counted {
  std::optional<EventCounter> counter;
  ProgramEnd end;
};

Counted count(const std::vector<std::string>& command, const CountedEvent& event) {
  Counted counted{};
  SignalRelay signals;
  LaunchOptions options{command, "", "session", true};
  options.before_exec = [&](const LaunchedProgram& program) {
    counted.counter.emplace(program.pid, event);
  };
  counted.end = wait_for(launch(options, signals, OwnLimits()));
  return counted;
}

// The kernel counts it everywhere, so that it stands for the processor's events here.
constexpr CountedEvent kCpu = {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK};

TEST(EventCounter, CountsTheProgramAndItsChildren) {
  // The program computes, and so does its child.
  const std::string loop = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
  const Counted counted = count({"sh", "-c", "sh -c '" + loop + "' & " + loop + "; wait"}, kCpu);
  if (counted.counter->error() != 0) GTEST_SKIP() << std::strerror(counted.counter->error());
  const std::optional<uint64_t> ns = counted.counter->count();
  ASSERT_TRUE(ns);
  const auto true_ns = static_cast<double>(counted.end.user_cpu_ns + counted.end.system_cpu_ns);
  // wait4(2) also counts the fork and the exec, which come before the counter is on.
  EXPECT_NEAR(static_cast<double>(*ns), true_ns, 0.05 * true_ns + 5e6);
}

TEST(EventCounter, SaysThatItIsRefused) {
  constexpr CountedEvent kNone = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_MAX + 100};
  const Counted counted = count({"true"}, kNone);
  EXPECT_FALSE(counted.counter->count());
  EXPECT_NE(counted.counter->error(), 0);
}

TEST(EventCounter, CountsInstructions) {
  const Counted counted = count({"true"}, {});
  if (counted.counter->error() != 0) {
    GTEST_SKIP() << "the processor's instructions cannot be counted here: "
                 << std::strerror(counted.counter->error());
  }
  EXPECT_GT(counted.counter->count().value_or(0), 10'000u);
}

}  // namespace
}  // namespace sampan::sampler

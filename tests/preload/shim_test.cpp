#include <gtest/gtest.h>
#include <sys/wait.h>

#include <set>

#include "fake_collector.h"

namespace sampan::preload::test {
namespace {

constexpr uint64_t kMs = 1'000'000;

RunResult run(std::vector<std::string> words, const RunOptions& options = {}) {
  words.insert(words.begin(), SAMPAN_TARGET);
  return run_with_shim(words, options);
}

const ModuleRecord* module_at(const ProcessRecords& process, uint64_t avma) {
  for (const ModuleRecord& module : process.modules) {
    if (avma >= module.start && avma < module.end) return &module;
  }
  return nullptr;
}

TEST(Shim, SamplesTheMainThread) {
  const RunResult result = run({"burn", "400"});
  ASSERT_EQ(result.status, 0);
  ASSERT_EQ(result.processes.size(), 1u);
  const ProcessRecords& process = result.processes[0];
  EXPECT_EQ(process.corrupt, 0u);
  const ThreadRecords* main = process.main_thread();
  ASSERT_NE(main, nullptr);
  EXPECT_EQ(main->first_name, "shim_target");
  EXPECT_GT(main->samples.size(), 50u);
  EXPECT_GT(main->sampled_cpu_ns(), 380 * kMs);
  size_t complete = 0;
  for (const SampleRecord& sample : main->samples) {
    ASSERT_FALSE(sample.frames.empty());
    EXPECT_NE(module_at(process, sample.frames[0]), nullptr);
    complete += sample.stop == wire::StopReason::kRoot;
  }
  EXPECT_GE(complete * 100, main->samples.size() * 99);
  EXPECT_EQ(process.exits, std::vector<int32_t>{0});
  EXPECT_GE(process.thread_cpu.at(process.pid), main->samples.back().cpu_ns);
}

TEST(Shim, TellsModulesWithBuildIds) {
  const RunResult result = run({"burn", "1"});
  ASSERT_EQ(result.processes.size(), 1u);
  std::set<std::string> names;
  for (const ModuleRecord& module : result.processes[0].modules) {
    names.insert(module.path.substr(module.path.rfind('/') + 1));
    if (module.path.ends_with("/libc.so.6")) {
      EXPECT_EQ(module.build_id.size(), 20u);
    }
    EXPECT_LT(module.start, module.end);
  }
  EXPECT_TRUE(names.contains("shim_target"));
  EXPECT_TRUE(names.contains("libc.so.6"));
  EXPECT_TRUE(names.contains("[vdso]"));
}

TEST(Shim, SamplesNamedThreads) {
  const RunResult result = run({"threads"});
  ASSERT_EQ(result.processes.size(), 1u);
  const ProcessRecords& process = result.processes[0];
  ASSERT_EQ(process.names.size(), 2u);
  for (const auto& [tid, name] : process.names) {
    EXPECT_TRUE(name == "worker-a" || name == "worker-b") << name;
    const auto thread = std::find_if(process.threads.begin(), process.threads.end(),
                                     [tid = tid](const ThreadRecords& t) { return t.tid == tid; });
    ASSERT_NE(thread, process.threads.end());
    EXPECT_TRUE(thread->ended);
    EXPECT_GE(thread->end_cpu_ns, 200 * kMs);
    EXPECT_GE(thread->sampled_cpu_ns(), 190 * kMs);
  }
}

TEST(Shim, SeesEveryEndOfAThread) {
  const RunResult result = run({"thread_ends"});
  ASSERT_EQ(result.processes.size(), 1u);
  unsigned ended = 0;
  for (const ThreadRecords& thread : result.processes[0].threads) {
    ended += thread.ended && thread.end_cpu_ns >= 60 * kMs;
  }
  EXPECT_EQ(ended, 2u);
}

TEST(Shim, UsesPerfAboveTheTick) {
  const RunResult result = run({"burn", "500"}, {.rate_hz = 2000, .environment = {}});
  ASSERT_EQ(result.processes.size(), 1u);
  const ProcessRecords& process = result.processes[0];
  if (!process.perf_clock) GTEST_SKIP() << "the kernel refuses perf_event_open";
  EXPECT_GT(process.samples(), 800u);
  EXPECT_EQ(process.loss(wire::Loss::kPerfRefused), 0u);
  EXPECT_EQ(process.main_thread()->samples[0].flags, wire::kSampleFromPerf);
}

TEST(Shim, FallsBackToTheCpuTimer) {
  const RunResult result =
      run({"burn", "500"}, {.rate_hz = 5000, .environment = {"SAMPAN_PERF=0"}});
  ASSERT_EQ(result.processes.size(), 1u);
  const ProcessRecords& process = result.processes[0];
  EXPECT_FALSE(process.perf_clock);
  EXPECT_GT(process.samples(), 40u);
  EXPECT_EQ(process.loss(wire::Loss::kPerfRefused), 1u);
  EXPECT_EQ(process.main_thread()->samples[0].flags, 0);
}

TEST(Shim, LeavesNoDescriptor) {
  const RunResult bare = run({"descriptors"}, {.shim = false, .environment = {}});
  for (const uint32_t rate : {250u, 1000u}) {
    const RunResult result = run({"descriptors"}, {.rate_hz = rate, .environment = {}});
    EXPECT_EQ(result.output, bare.output);
  }
}

TEST(Shim, CpuOfManyShortThreads) {
  const RunResult result = run({"storm"});
  ASSERT_EQ(result.status, 0);
  ASSERT_EQ(result.processes.size(), 1u);
  const ProcessRecords& process = result.processes[0];
  EXPECT_EQ(process.threads.size(), 303u);
  EXPECT_EQ(process.corrupt, 0u);
  for (const ThreadRecords& thread : process.threads) {
    EXPECT_EQ(thread.ended, thread.tid != process.pid);
  }
}

}  // namespace
}  // namespace sampan::preload::test

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "base/clock.h"
#include "base/units.h"
#include "fake_collector.h"

namespace sampan::preload::test {
namespace {

// The sampled CPU that is required is well below what the target burns: on a busy machine, the tick
// misses the last milliseconds of a thread.

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
  EXPECT_GT(main->sampled_cpu_ns(), 350 * kNsPerMs);
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

TEST(Shim, RecordsModulesWithBuildIds) {
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
    EXPECT_GE(thread->end_cpu_ns, 200 * kNsPerMs);
    EXPECT_GE(thread->sampled_cpu_ns(), 150 * kNsPerMs);
  }
}

TEST(Shim, SeesEveryEndOfAThread) {
  const RunResult result = run({"thread_ends"});
  ASSERT_EQ(result.processes.size(), 1u);
  unsigned ended = 0;
  for (const ThreadRecords& thread : result.processes[0].threads) {
    ended += thread.ended && thread.end_cpu_ns >= 60 * kNsPerMs;
  }
  EXPECT_EQ(ended, 2u);
}

TEST(Shim, UsesPerfAboveTheTick) {
  const RunResult result =
      run({"burn", "500"}, {.rate_hz = 2000, .environment = {"SAMPAN_FAST_CLOCK=always"}});
  ASSERT_EQ(result.processes.size(), 1u);
  const ProcessRecords& process = result.processes[0];
  if (process.loss(wire::Loss::kPerfRefused) != 0) {
    GTEST_SKIP() << "the kernel refuses perf_event_open";
  }
  EXPECT_GT(process.samples(), 800u);
  // The timer beside the event, every 16 ms: as a rule, perf has just sampled, and there is no sample by it.
  const auto& samples = process.main_thread()->samples;
  EXPECT_LE(process.timer_signals, samples.back().cpu_ns / (16 * kNsPerMs) + 2);
  const auto by_perf = std::count_if(samples.begin(), samples.end(), [](const auto& sample) {
    return sample.flags == wire::kSampleFromPerf;
  });
  EXPECT_GT(by_perf, static_cast<ptrdiff_t>(samples.size() - samples.size() / 50));
}

TEST(Shim, FallsBackToTheCpuTimer) {
  const RunResult result =
      run({"burn", "500"}, {.rate_hz = 5000, .perf = false, .environment = {}});
  ASSERT_EQ(result.processes.size(), 1u);
  const ProcessRecords& process = result.processes[0];
  EXPECT_EQ(process.perf_signals, 0u);
  EXPECT_GT(process.samples(), 40u);
  EXPECT_EQ(process.loss(wire::Loss::kPerfRefused), 1u);
  EXPECT_EQ(process.main_thread()->samples[0].flags, 0);
}

// The rate of the samples in a part of the thread's CPU time.
double rate_hz(const ThreadRecords& thread, uint64_t from_ns, uint64_t to_ns) {
  const auto count =
      std::count_if(thread.samples.begin(), thread.samples.end(),
                    [&](const SampleRecord& s) { return s.cpu_ns >= from_ns && s.cpu_ns < to_ns; });
  return static_cast<double>(count) / (static_cast<double>(to_ns - from_ns) * 1e-9);
}

class ShimRates : public testing::TestWithParam<std::pair<uint32_t, uint32_t>> {};

// After half of its CPU time, another rate is requested of the thread. It may notice one old period
// later, and the test a moment after that.
TEST_P(ShimRates, AThreadFollowsAnotherRate) {
  const auto [before, after] = GetParam();
  constexpr uint64_t kHalf = 600 * kNsPerMs, kLate = 100 * kNsPerMs;
  // Beside much other work the perf clock hides so many periods, at 3000 Hz, that it is given up.
  const RunResult result = run({"burn", "1200"}, {.rate_hz = before,
                                                  .later_rate_hz = after,
                                                  .later_ns = kHalf,
                                                  .environment = {"SAMPAN_FAST_CLOCK=always"}});
  ASSERT_EQ(result.processes.size(), 1u);
  const ProcessRecords& process = result.processes[0];
  if (process.loss(wire::Loss::kPerfRefused) != 0) {
    GTEST_SKIP() << "the kernel refuses perf_event_open";
  }
  const ThreadRecords& main = *process.main_thread();
  ASSERT_FALSE(main.samples.empty());
  const uint64_t used_ns = process.thread_cpu.at(process.pid);
  const uint64_t end_ns = std::min(used_ns, 1200 * kNsPerMs);
  const double first = rate_hz(main, 0, kHalf), second = rate_hz(main, kHalf + kLate, end_ns);
  // A clock is not random: it may be late on a busy machine, but never early. With so few samples,
  // one more or less counts.
  const double one_more = 1e9 / static_cast<double>(end_ns - kHalf - kLate);
  EXPECT_LE(first, before * 1.02 + one_more);
  EXPECT_GE(first, before * 0.75);
  EXPECT_LE(second, after * 1.02 + one_more);
  EXPECT_GE(second, after * 0.75 - one_more);
  EXPECT_EQ(process.clock_rates.at(0), after);
  const bool perf = std::max(before, after) > 250;  // the fastest common tick
  EXPECT_EQ(process.perf_signals > 0, perf);
  // Whatever the rate, samples carry the thread's CPU but for its last period, and what it used before they began.
  EXPECT_GE(main.start_cpu_ns + main.sampled_cpu_ns() + 1'000'000'000 / after + 20 * kNsPerMs,
            used_ns);
}

INSTANTIATE_TEST_SUITE_P(WithinAndAcrossTheTick, ShimRates,
                         testing::Values(std::pair(200u, 40u), std::pair(20u, 200u),
                                         std::pair(2000u, 100u), std::pair(100u, 2000u),
                                         std::pair(1000u, 3000u)));

TEST(Shim, SamplesByTimerWhenPerfCannotBeArmedAgain) {
  const RunResult result = run({"jump_without_descriptors"}, {.rate_hz = 2000, .environment = {}});
  ASSERT_EQ(result.status, 0);
  ASSERT_EQ(result.processes.size(), 1u);
  const ProcessRecords& process = result.processes[0];
  if (process.perf_signals == 0) GTEST_SKIP() << "the kernel refuses perf_event_open";
  EXPECT_EQ(process.loss(wire::Loss::kPerfRefused), 1u);
  EXPECT_GT(process.timer_signals, 0u);
  EXPECT_GE(process.main_thread()->sampled_cpu_ns(), 350 * kNsPerMs);
}

TEST(Shim, RecordsWhatSamplesCost) {
  const RunResult result = run({"burn", "500"});
  ASSERT_EQ(result.processes.size(), 1u);
  const ProcessRecords& process = result.processes[0];
  EXPECT_EQ(process.timer_signals, process.samples());
  EXPECT_EQ(process.perf_signals, 0u);
  // A handler takes microseconds: not less than a tenth of one, nor a tenth of the thread's time.
  EXPECT_GT(process.handler_ns, process.samples() * 100);
  EXPECT_LT(process.handler_ns, process.thread_cpu.at(process.pid) / 10);
}

TEST(Shim, LeavesNoDescriptor) {
  const RunResult bare = run({"descriptors"}, {.shim = false, .environment = {}});
  for (const uint32_t rate : {250u, 1000u}) {
    const RunResult result = run({"descriptors"}, {.rate_hz = rate, .environment = {}});
    EXPECT_EQ(result.output, bare.output);
  }
}

TEST(Shim, LeavesNoErrorOfTheLoader) {
  EXPECT_EQ(run({"dlerror"}).output, "none\n");
  FILE* const not_profiled = popen("LD_PRELOAD=" SAMPAN_SHIM " " SAMPAN_TARGET " dlerror", "r");
  char line[256] = "";
  EXPECT_NE(fgets(line, sizeof line, not_profiled), nullptr);
  pclose(not_profiled);
  EXPECT_STREQ(line, "none\n");
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

const ProcessRecords* forked_process(const RunResult& result) {
  for (const ProcessRecords& process : result.processes) {
    if (process.forked) return &process;
  }
  return nullptr;
}

TEST(Shim, GoesOnInAForkedChild) {
  const RunResult result = run({"fork"});
  EXPECT_EQ(result.output, "3\n");
  ASSERT_EQ(result.processes.size(), 2u);
  const ProcessRecords* child = forked_process(result);
  ASSERT_NE(child, nullptr);
  EXPECT_EQ(child->parent_pid, result.processes[0].pid);
  ASSERT_NE(child->main_thread(), nullptr);
  EXPECT_GE(child->main_thread()->sampled_cpu_ns(), 60 * kNsPerMs);
  EXPECT_EQ(child->exits, std::vector<int32_t>{3});
  EXPECT_GE(child->modules.size(), 3u);
  EXPECT_EQ(child->corrupt, 0u);
  // The parent's own records are not mixed with the child's.
  EXPECT_LT(result.processes[0].main_thread()->sampled_cpu_ns(), 110 * kNsPerMs);
}

TEST(Shim, NoticesAForkByARawCall) {
  const RunResult result = run({"raw_fork"});
  const ProcessRecords* child = forked_process(result);
  ASSERT_NE(child, nullptr);
  ASSERT_NE(child->main_thread(), nullptr);
  EXPECT_GE(child->main_thread()->sampled_cpu_ns(), 60 * kNsPerMs);
}

TEST(Shim, FindsThreadsOfRawClone) {
  for (const char* word : {"clone", "raw_clone"}) {
    const RunResult result = run({word});
    ASSERT_EQ(result.processes.size(), 1u);
    const ProcessRecords& process = result.processes[0];
    ASSERT_EQ(process.threads.size(), 2u) << word;
    EXPECT_GE(process.threads[1].samples.size(), 8u) << word;
    EXPECT_EQ(process.threads[1].first_name, "shim_target");
    EXPECT_TRUE(process.threads[1].ended) << word;
  }
}

TEST(Shim, HandsTheSessionOnWhateverTheEnvironment) {
  const RunResult result = run({"exec"});
  ASSERT_EQ(result.status, 0);
  ASSERT_EQ(result.processes.size(), 2u);
  EXPECT_EQ(result.processes[0].execs.size(), 2u);
  EXPECT_EQ(result.processes[0].failed_execs, 1u);
  EXPECT_EQ(result.processes[0].pid, result.processes[1].pid);
  EXPECT_FALSE(result.processes[1].forked);
  EXPECT_GE(result.processes[1].main_thread()->sampled_cpu_ns(), 60 * kNsPerMs);
}

TEST(Shim, ExecUnderThePerfClock) {
  for (int i = 0; i < 10; ++i) {
    const RunResult result = run({"exec"}, {.rate_hz = 4000, .environment = {}});
    ASSERT_EQ(result.status, 0);
    ASSERT_EQ(result.processes.size(), 2u);
  }
}

constexpr const char* kExecutions[] = {"execve", "fexecve", "fexecve_by_path", "execveat",
                                       "execveat_file"};

// A copy of the target that asks for a loader with "musl" in its name. That loader is glibc's, so
// the copy runs, and would load the shim.
class MuslImage {
 public:
  MuslImage() {
    std::ifstream target(SAMPAN_TARGET, std::ios::binary);
    std::string image{std::istreambuf_iterator<char>(target), {}};
    const std::string loader = kLoader;
    const size_t at = image.find(loader);
    if (mkdtemp(folder_) == nullptr || at == std::string::npos) abort();
    std::string name = std::string(folder_) + "/ld-musl";
    std::filesystem::create_symlink(loader, name);
    name.resize(loader.size());
    image.replace(at, name.size(), name);
    std::ofstream(path(), std::ios::binary) << image;
    chmod(path().c_str(), 0700);
  }
  ~MuslImage() { std::filesystem::remove_all(folder_); }
  MuslImage(const MuslImage&) = delete;

  std::string path() const { return std::string(folder_) + "/image"; }

 private:
  static constexpr const char* kLoader = "/lib64/ld-linux-x86-64.so.2";
  char folder_[14] = "/tmp/shXXXXXX";
};

TEST(Shim, KeepsTheShimFromAMuslImage) {
  const MuslImage image;
  for (const char* word : kExecutions) {
    const RunResult result = run({word, image.path()});
    EXPECT_EQ(result.output, "LD_PRELOAD=\nSAMPAN=\nSAMPAN_SESSION=\n") << word;
    EXPECT_EQ(result.processes.size(), 1u) << word;
    EXPECT_EQ(result.processes.at(0).loss(wire::Loss::kProcessStatic), 1u) << word;
  }
}

TEST(Shim, HandsTheSessionOnHoweverAnImageIsExecuted) {
  for (const char* word : kExecutions) {
    const RunResult result = run({word, SAMPAN_TARGET});
    ASSERT_EQ(result.processes.size(), 2u) << word;
    EXPECT_EQ(result.processes[0].loss(wire::Loss::kProcessStatic), 0u) << word;
  }
}

// The shell removes the shim, as a new root would, and becomes the target.
RunResult run_without_file(const RunOptions& options) {
  char folder[] = "/tmp/shXXXXXX";
  if (mkdtemp(folder) == nullptr) abort();
  const std::string shim = std::string(folder) + "/shim.so";
  std::filesystem::copy(SAMPAN_SHIM, shim);
  RunOptions own = options;
  own.environment = {"LD_PRELOAD=" + shim};
  RunResult result =
      run_with_shim({"/bin/sh", "-c", "rm " + shim + "; exec " SAMPAN_TARGET " burn 1"}, own);
  std::filesystem::remove_all(folder);
  return result;
}

TEST(Shim, AsksForAnEngineWhereItCannotBe) {
  for (const auto answer : {wire::Outside::kAttached, wire::Outside::kRefused}) {
    const RunResult result = run_without_file({.environment = {}, .outside = answer});
    EXPECT_EQ(result.status, 0);
    const ProcessRecords& shell = result.processes.at(0);
    EXPECT_EQ(shell.wishes, 1u);
    const bool is_lost = answer == wire::Outside::kRefused;
    EXPECT_EQ(shell.loss(wire::Loss::kProcessNoShim), is_lost ? 1u : 0u);
    EXPECT_EQ(shell.execs.size(), 1u);
  }
}

TEST(Shim, GoesOnWithoutAnAnswer) {
  const uint64_t before = monotonic_ns();
  const RunResult result = run_without_file({});
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.processes.at(0).loss(wire::Loss::kProcessNoShim), 1u);
  EXPECT_GE(monotonic_ns() - before, 500 * kNsPerMs);
}

TEST(Shim, SaysGoodbyeWhenItIsAskedTo) {
  for (const char* word : {"exit", "_exit", "quick_exit"}) {
    const RunResult result = run({word}, {.waits_at_end = true, .environment = {}});
    ASSERT_EQ(result.processes.size(), 1u);
    const ProcessRecords& process = result.processes[0];
    EXPECT_EQ(process.goodbyes, 1u) << word;
    EXPECT_EQ(process.exits_at_goodbye, 1u) << word;
    EXPECT_TRUE(process.lived_at_goodbye) << word;
    EXPECT_EQ(run({word}).processes.at(0).goodbyes, 0u) << word;
  }
}

TEST(Shim, LeavesTheParentAloneInAVforkChild) {
  for (const char* word : {"vfork", "spawn"}) {
    const RunResult result = run({word});
    ASSERT_EQ(result.status, 0);
    ASSERT_EQ(result.processes.size(), 2u) << word;
    EXPECT_TRUE(result.processes[0].execs.empty());
    EXPECT_EQ(result.processes[0].exits.size(), 1u);
    EXPECT_GE(result.processes[1].main_thread()->sampled_cpu_ns(), 60 * kNsPerMs);
  }
}

TEST(Shim, RecordsTheStatusOfEveryOrdinaryExit) {
  const struct {
    const char* word;
    int status;
  } cases[] = {{"exit", 7}, {"_exit", 8}, {"quick_exit", 9}, {"main_pthread_exit", 0}};
  for (const auto& [word, status] : cases) {
    const RunResult result = run({word});
    EXPECT_EQ(WEXITSTATUS(result.status), status) << word;
    ASSERT_EQ(result.processes.size(), 1u);
    EXPECT_EQ(result.processes[0].exits, std::vector<int32_t>{status}) << word;
    EXPECT_GE(result.processes[0].main_thread()->sampled_cpu_ns(), 25 * kNsPerMs) << word;
  }
}

TEST(Shim, FollowsLibrariesThatComeAndGo) {
  const RunResult result = run({"dlopen", SAMPAN_LIBRARY});
  ASSERT_EQ(result.status, 0) << result.output;
  ASSERT_EQ(result.processes.size(), 1u);
  const ProcessRecords& process = result.processes[0];
  const auto loads =
      std::count_if(process.modules.begin(), process.modules.end(),
                    [](const ModuleRecord& module) { return module.path == SAMPAN_LIBRARY; });
  EXPECT_EQ(loads, 5);
  EXPECT_EQ(process.unloads, 5u);
}

}  // namespace
}  // namespace sampan::preload::test

// Programs that use signals themselves see the same with the shim and without it, and are sampled.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <cmath>

#include "fake_collector.h"

namespace sampan::preload::test {
namespace {

RunResult run(const std::string& target, const std::string& argument, const RunOptions& options) {
  std::vector<std::string> command{SAMPAN_TARGETS "/target_" + target};
  if (!argument.empty()) command.push_back(argument);
  return run_with_shim(command, options);
}

RunOptions bare() {
  RunOptions options;
  options.shim = false;
  return options;
}

RunOptions at(uint32_t rate_hz) {
  RunOptions options;
  options.rate_hz = rate_hz;
  return options;
}

// The lines of the output that are not measurements.
std::string facts(const std::string& output) {
  std::string lines;
  for (size_t begin = 0; begin < output.size();) {
    const size_t end = std::min(output.find('\n', begin), output.size());
    const std::string line = output.substr(begin, end - begin);
    if (!line.starts_with("cpu ") && !line.starts_with("itimer ")) lines += line + "\n";
    begin = end + 1;
  }
  return lines;
}

double number_after(const std::string& output, const std::string& word) {
  const size_t found = output.find(word + " ");
  return found == std::string::npos ? NAN : std::stod(output.substr(found + word.size() + 1));
}

uint64_t sampled_cpu_ns(const RunResult& result) {
  uint64_t sum = 0;
  for (const ProcessRecords& process : result.processes) {
    for (const ThreadRecords& thread : process.threads) sum += thread.sampled_cpu_ns();
  }
  return sum;
}

class SignalViews : public testing::TestWithParam<uint32_t> {};

TEST_P(SignalViews, AreWhatTheyAreWithoutTheShim) {
  const RunResult plain = run("signal_views", "", bare());
  const RunResult sampled = run("signal_views", "", at(GetParam()));
  EXPECT_EQ(plain.status, 0);
  EXPECT_EQ(sampled.status, 0);
  EXPECT_GT(plain.output.size(), 1000u);
  EXPECT_EQ(sampled.output, plain.output);
}

INSTANTIATE_TEST_SUITE_P(Rates, SignalViews, testing::Values(250, 1000),
                         [](const auto& rate) { return std::to_string(rate.param) + "Hz"; });

class Sigprof : public testing::TestWithParam<std::string> {};

TEST_P(Sigprof, IsTheProgramsOwnAndTheProgramIsSampled) {
  const RunResult plain = run("sigprof", GetParam(), bare());
  for (const uint32_t rate : {250u, 1000u}) {
    const RunResult sampled = run("sigprof", GetParam(), at(rate));
    EXPECT_EQ(sampled.status, plain.status);
    EXPECT_EQ(facts(sampled.output), facts(plain.output));
    EXPECT_FALSE(facts(plain.output).empty() && GetParam() != "dies");
    const double used = GetParam() == "dies" ? 0.5 : number_after(sampled.output, "cpu");
    EXPECT_GT(static_cast<double>(sampled_cpu_ns(sampled)) * 1e-9, 0.8 * used);
  }
}

INSTANTIATE_TEST_SUITE_P(Uses, Sigprof,
                         testing::Values("blocked", "all-blocked", "handler", "default", "ignore",
                                         "dies", "sigwait", "signalfd", "reset", "itimer-off"),
                         [](const auto& use) {
                           std::string name = use.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(Itimer, CountsWhatItCountsWithoutTheShim) {
  // 0.5 s of CPU, a signal for each 10 ms: at most 55, bare or not, as the kernel counts in ticks
  // and the machine is busy. Signals of ours that came through would make 125 more.
  const double plain = number_after(run("sigprof", "itimer", bare()).output, "itimer");
  for (const uint32_t rate : {250u, 1000u}) {
    const double sampled = number_after(run("sigprof", "itimer", at(rate)).output, "itimer");
    EXPECT_GT(sampled, 0.7 * plain);
    EXPECT_LT(sampled, 110);
  }
}

TEST(BornBlocked, IsHonouredAndSampled) {
  sigset_t set, before;
  sigemptyset(&set);
  sigaddset(&set, SIGPROF);
  pthread_sigmask(SIG_BLOCK, &set, &before);
  const RunResult plain = run("signal_views", "born", bare());
  const RunResult sampled = run("signal_views", "born", at(250));
  const RunResult burning = run("depths", "0.3", at(250));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_NE(plain.output.find("born: mask 27"), std::string::npos);
  EXPECT_EQ(sampled.output, plain.output);
  EXPECT_GT(sampled_cpu_ns(burning), 200'000'000u);
}

TEST(BornIgnored, IsHonouredAndSampled) {
  const sighandler_t before = signal(SIGPROF, SIG_IGN);
  const RunResult plain = run("signal_views", "born", bare());
  const RunResult sampled = run("signal_views", "born", at(250));
  const RunResult burning = run("depths", "0.3", at(250));
  signal(SIGPROF, before);
  EXPECT_NE(plain.output.find("born: signal 27 ignore"), std::string::npos);
  EXPECT_EQ(sampled.output, plain.output);
  EXPECT_GT(sampled_cpu_ns(burning), 200'000'000u);
}

}  // namespace
}  // namespace sampan::preload::test

#include "remote/serve/metrics.h"
#include "base/units.h"

#include <gtest/gtest.h>

#include "fake_source.h"

namespace sampan::serve {
namespace {

bool has(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

recording::Sample sample(uint32_t thread, SessionNs time_ns, uint64_t weight_ns) {
  return {.thread = thread, .time_ns = time_ns, .weight_ns = weight_ns};
}

TEST(Metrics, ThreadsByName) {
  FakeSource source;
  source.recording = program({"main", "worker", "worker"});
  source.recording.samples = {sample(0, 1, 10 * kNsPerMs), sample(1, 2, 20 * kNsPerMs),
                              sample(2, 3, 30 * kNsPerMs)};
  source.now = 10;
  const std::string text = Metrics().collect(source);
  EXPECT_TRUE(has(text, R"(sampan_samples_total{state="cpu"} 3)")) << text;
  EXPECT_TRUE(has(
      text, R"(sampan_thread_seconds_total{process="program",thread="main",state="cpu"} 0.01)"));
  EXPECT_TRUE(has(
      text, R"(sampan_thread_seconds_total{process="program",thread="worker",state="cpu"} 0.05)"));
  EXPECT_TRUE(has(text, "sampan_threads 3"));
}

TEST(Metrics, HaveTheCurrentRate) {
  FakeSource source;
  source.recording = program({"main"});
  source.recording.session.rate_hz = 4000;
  source.now = 10;
  Metrics metrics;
  EXPECT_TRUE(has(metrics.collect(source), "sampan_rate_hertz 4000"));
  source.recording.rates.changes = {{0, 100, true}, {5, 420, true}};
  source.recording.rates.costs = {{}, {6, 1'000'000'000, 20'000'000, 3}};
  const std::string text = metrics.collect(source);
  EXPECT_TRUE(has(text, "sampan_rate_hertz 420")) << text;
  EXPECT_TRUE(has(text, "sampan_asked_rate_hertz 4000"));
  EXPECT_TRUE(has(text, R"(sampan_overhead_cpu_seconds_total{process="target"} 0.02)"));
}

TEST(Metrics, CountersGrowWhenTheBeginIsDeleted) {
  FakeSource source;
  Metrics metrics;
  source.recording = program({"main"});
  source.recording.samples = {sample(0, 1, kNsPerMs), sample(0, 2, kNsPerMs)};
  source.now = 10;
  EXPECT_TRUE(has(metrics.collect(source), R"(sampan_samples_total{state="cpu"} 2)"));
  EXPECT_TRUE(has(metrics.collect(source), R"(sampan_samples_total{state="cpu"} 2)"));
  source.recording.samples = {sample(0, 10, kNsPerMs)};
  source.now = 20;
  EXPECT_TRUE(has(metrics.collect(source), R"(sampan_samples_total{state="cpu"} 3)"));
}

TEST(Metrics, SeparateWaitingFromCpu) {
  FakeSource source;
  source.recording = program({"main"});
  source.recording.waits = {{"read", "pipe"}, {recording::kRunnable, ""}};
  source.recording.samples = {sample(0, 1, kNsPerMs), sample(0, 2, 4 * kNsPerMs),
                              sample(0, 3, 8 * kNsPerMs)};
  source.recording.samples[1].wait = 0;
  source.recording.samples[2].wait = 1;
  source.now = 10;
  const std::string text = Metrics().collect(source);
  EXPECT_TRUE(has(text, R"(sampan_samples_total{state="waiting"} 2)"));
  EXPECT_TRUE(has(text, "sampan_sampled_cpu_seconds_total 0.001"));
  EXPECT_TRUE(has(
      text,
      R"(sampan_thread_seconds_total{process="program",thread="main",state="runnable"} 0.008)"));
}

TEST(Metrics, LossesAreTotalsOfProcesses) {
  FakeSource source;
  source.recording = program({"main"});
  recording::Losses row{.process = 0};
  row.count[0] = 5;
  source.recording.losses = {row};
  row.count[0] = 7;
  source.recording.losses.push_back(row);
  source.now = 10;
  EXPECT_TRUE(has(Metrics().collect(source), R"(sampan_lost_total{reason="ring_full"} 7)"));
}

// If the blocks that named the process are lost, its losses still count.
TEST(Metrics, CountLossesWithoutAProcess) {
  FakeSource source;
  source.recording = program({"main"});
  recording::Losses row{.process = recording::kNone};
  row.count[0] = 5;
  source.recording.losses = {row};
  source.now = 10;
  EXPECT_TRUE(has(Metrics().collect(source), R"(sampan_lost_total{reason="ring_full"} 5)"));
}

TEST(Metrics, CountEndedSpans) {
  FakeSource source;
  source.recording = program({"main"});
  source.recording.markers.texts = {"", "parse"};
  source.recording.markers.spans = {
      {.begin_ns = 1 * kNsPerMs, .end_ns = 3 * kNsPerMs, .id = 1, .name = 1, .thread = 0},
      {.begin_ns = 5 * kNsPerMs, .end_ns = 90 * kNsPerMs, .id = 2, .name = 1, .thread = 0}};
  source.now = 10 * kNsPerMs;
  Metrics metrics;
  const std::string text = metrics.collect(source);
  EXPECT_TRUE(has(text, R"(sampan_spans_total{span="parse"} 1)"));
  EXPECT_TRUE(has(text, R"(sampan_span_seconds_total{span="parse"} 0.002)"));
  source.now = 100 * kNsPerMs;
  EXPECT_TRUE(has(metrics.collect(source), R"(sampan_spans_total{span="parse"} 2)"));
}

TEST(Metrics, HaveCoverageIfTheTrueCpuIsKnown) {
  FakeSource source;
  source.recording = program({"main"});
  source.recording.samples = {sample(0, 1, 30 * kNsPerMs)};
  source.now = 10;
  EXPECT_EQ(Metrics().collect(source).find("sampan_coverage_ratio"), std::string::npos);
  source.spent.target = 0.06;
  EXPECT_TRUE(has(Metrics().collect(source), "sampan_coverage_ratio 0.5"));
}

TEST(Metrics, EscapeNames) {
  EXPECT_EQ(escape_label("a\"b\\c\nd"), R"(a\"b\\c\nd)");
  EXPECT_EQ(escape_label("\xff"), "\xef\xbf\xbd");
}

bool has_none_of(const std::string& text, const std::string& prefix) {
  return text.find(prefix) == std::string::npos;
}

// Each allocation is certain to be drawn, so the estimates are exact.
TEST(Metrics, HaveTheHeapIfItIsRecorded) {
  FakeSource source;
  source.recording = program({"main"});
  const auto allocate = [&](uint64_t id, uint64_t size, SessionNs time_ns) {
    recording::Allocation& row = source.recording.allocations.emplace_back();
    row = {.thread = 0, .time_ns = time_ns, .id = id};
    row.size = size;
    row.mean = 1;
  };
  const auto free = [&](uint64_t id, SessionNs time_ns) {
    source.recording.frees.push_back({.thread = 0, .time_ns = time_ns, .id = id});
  };
  Metrics metrics;
  source.now = 10;
  EXPECT_TRUE(has_none_of(metrics.collect(source), "sampan_heap_"));
  source.recording.watch_changes = {{0, 11, recording::Watched::kHeap, 1}};
  allocate(1, 1000, 12);
  allocate(2, 500, 13);
  free(2, 15);
  source.now = 20;
  std::string text = metrics.collect(source);
  EXPECT_TRUE(has(text, R"(sampan_heap_live_bytes{process="program"} 1000)")) << text;
  EXPECT_TRUE(has(text, R"(sampan_heap_live_blocks{process="program"} 1)"));
  EXPECT_TRUE(has(text, R"(sampan_heap_allocated_bytes_total{process="program"} 1500)"));
  EXPECT_TRUE(has(text, R"(sampan_heap_allocated_blocks_total{process="program"} 2)"));
  EXPECT_TRUE(has_none_of(text, "sampan_lock_"));
  free(1, 22);
  allocate(3, 200, 23);
  source.now = 30;
  text = metrics.collect(source);
  EXPECT_TRUE(has(text, R"(sampan_heap_live_bytes{process="program"} 200)")) << text;
  EXPECT_TRUE(has(text, R"(sampan_heap_allocated_bytes_total{process="program"} 1700)"));
  source.recording.process_ends.resize(1);
  source.recording.process_ends[0].process = 0;
  source.recording.process_ends[0].time_ns = 33;
  for (source.now = 40; source.now <= 60; source.now += 10) {
    text = metrics.collect(source);
    EXPECT_TRUE(has(text, R"(sampan_heap_live_bytes{process="program"} 0)")) << text;
    EXPECT_TRUE(has(text, R"(sampan_heap_allocated_bytes_total{process="program"} 1700)"));
  }
}

TEST(Metrics, HaveWaitsForLocksIfTheyAreRecorded) {
  FakeSource source;
  source.recording = program({"main"});
  source.recording.watch_changes = {{0, 0, recording::Watched::kLocks, kNsPerMs}};
  source.recording.locks = {{.process = 0, .address = 0x7000}};
  const auto wait = [&](SessionNs begin_ns, uint64_t duration_ns) {
    recording::LockWait& row = source.recording.lock_waits.emplace_back();
    row.thread = 0;
    row.begin_ns = begin_ns;
    row.duration_ns = duration_ns;
    row.limit_ns = kNsPerMs;
    row.lock = 0;
  };
  wait(1, 500 * kNsPerMs);
  wait(2, kNsPerMs / 4);  // one of four that are as short
  wait(3, 3 * kNsPerSecond);
  source.now = kNsPerSecond;
  Metrics metrics;
  std::string text = metrics.collect(source);
  EXPECT_TRUE(has(text, R"(sampan_lock_waits_total{process="program"} 5)")) << text;
  EXPECT_TRUE(has(text, R"(sampan_lock_wait_seconds_total{process="program"} 0.501)")) << text;
  EXPECT_TRUE(has_none_of(text, "sampan_heap_"));
  source.now = 4 * kNsPerSecond;
  text = metrics.collect(source);
  EXPECT_TRUE(has(text, R"(sampan_lock_waits_total{process="program"} 6)")) << text;
  EXPECT_TRUE(has(text, R"(sampan_lock_wait_seconds_total{process="program"} 3.501)")) << text;
}

TEST(Metrics, LimitTheNumberOfNames) {
  FakeSource source;
  std::vector<std::string> names;
  for (int i = 0; i < 3000; ++i) names.push_back("thread " + std::to_string(i));
  source.recording = program(names);
  for (uint32_t i = 0; i < names.size(); ++i)
    source.recording.samples.push_back(sample(i, SessionNs::at(i), kNsPerMs));
  source.now = 10'000;
  const std::string text = Metrics().collect(source);
  EXPECT_TRUE(
      has(text,
          R"-(sampan_thread_seconds_total{process="(others)",thread="(others)",state="cpu"} 2)-"));
}

}  // namespace
}  // namespace sampan::serve

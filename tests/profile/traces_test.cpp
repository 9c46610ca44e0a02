// Requests across services as trees, from contexts that are made by hand.
#include "profile/traces.h"

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "profile/load.h"
#include "profile/trace_ids.h"

namespace sampan::profile {
namespace {

using wire::StopReason;

// Each process has a thread; a sample has its context's row, and all have the same stack.
struct Recorded {
  recording::Recording rows;

  Recorded() {
    rows.frames.push_back({kNone, 0x1000});
    rows.stacks.push_back({kNone, 0});
    rows.waits.push_back({"read", ""});
  }
  void process(int32_t pid) {
    rows.processes.push_back({pid, 1, 0, "service"});
    rows.threads.push_back({static_cast<uint32_t>(rows.processes.size() - 1), pid, 0, "main"});
  }
  void sample(uint32_t thread, uint64_t time_ns, uint64_t weight_ns, const TraceContext& context,
              uint32_t wait = kNone) {
    rows.contexts.push_back(context);
    rows.samples.push_back({thread, 0, SessionNs::at(time_ns), weight_ns, StopReason::kRoot, wait,
                            static_cast<uint32_t>(rows.contexts.size() - 1)});
  }
};

constexpr wire::TraceId kTrace = {1}, kOther = {2};
constexpr wire::SpanId kFirst = {0xa}, kSecond = {0xb}, kThird = {0xc};

TEST(Traces, AreTreesOverProcesses) {
  Recorded recorded;
  for (const int32_t pid : {10, 20, 30}) recorded.process(pid);
  recorded.sample(2, 900, 50, {kTrace, kThird, kSecond});
  recorded.sample(1, 500, 100, {kTrace, kSecond, kFirst});
  recorded.sample(0, 400, 200, {kTrace, kFirst, {}});
  recorded.sample(0, 800, 300, {kTrace, kFirst, {}}, 0);
  recorded.sample(0, 950, 10, {kOther, kFirst, {}});
  const Profile profile = load(std::move(recorded.rows));
  EXPECT_EQ(profile.contexts.size(), 4u);
  const std::vector<Trace> traces = traces_of(select(profile));
  ASSERT_EQ(traces.size(), 2u);
  const Trace& trace = traces[0];
  EXPECT_EQ(trace.trace_id, kTrace);
  EXPECT_EQ(trace.processes, 3u);
  EXPECT_EQ(trace.cpu, (Weight{350, 3}));
  EXPECT_EQ(trace.waiting, (Weight{300, 1}));
  EXPECT_EQ(trace.begin_ns, 200u);
  EXPECT_EQ(trace.end_ns, 900u);
  ASSERT_EQ(trace.spans.size(), 3u);
  for (uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(trace.spans[i].process, i);
    EXPECT_EQ(trace.spans[i].depth, i);
    EXPECT_EQ(trace.spans[i].parent, i == 0 ? kNone : i - 1);
  }
  EXPECT_EQ(trace.spans[0].waits, (std::vector<std::pair<uint32_t, uint64_t>>{{0, 300}}));
  EXPECT_EQ(traces[1].cpu, (Weight{10, 1}));
}

// What a service says may be wrong: nothing is lost or shown twice.
TEST(Traces, WhoseCallersAreInACircleAreWhole) {
  Recorded recorded;
  for (const int32_t pid : {10, 20, 30}) recorded.process(pid);
  recorded.sample(0, 100, 1, {kTrace, kFirst, kSecond});
  recorded.sample(1, 200, 2, {kTrace, kSecond, kFirst});
  recorded.sample(2, 300, 4, {kTrace, kThird, kThird});  // its own
  const Profile profile = load(std::move(recorded.rows));
  const std::vector<Trace> traces = traces_of(select(profile));
  ASSERT_EQ(traces.size(), 1u);
  ASSERT_EQ(traces[0].spans.size(), 3u);
  uint64_t sum = 0;
  for (const TraceSpan& span : traces[0].spans) sum += span.cpu.ns;
  EXPECT_EQ(sum, 7u);
}

TEST(Traces, CanBeSelectedByTheBeginOfTheirIds) {
  Recorded recorded;
  recorded.process(10);
  recorded.sample(0, 100, 1, {{0xab, 0xcd}, kFirst, {}});
  recorded.sample(0, 200, 2, {{0xab, 0xce}, kFirst, {}});
  recorded.rows.samples.push_back({0, 0, 300, 4, StopReason::kRoot});
  const Profile profile = load(std::move(recorded.rows));
  EXPECT_EQ(select(profile).samples.size(), 3u);
  EXPECT_EQ(select(profile, {.trace = "ABCD"}).samples, (std::vector<uint32_t>{0}));
  EXPECT_EQ(select(profile, {.trace = trace_text(profile.contexts[1])}).samples,
            (std::vector<uint32_t>{1}));
  EXPECT_THROW(select(profile, {.trace = "ab"}), Error);
  EXPECT_THROW(select(profile, {.trace = "ff"}), Error);
}

}  // namespace
}  // namespace sampan::profile

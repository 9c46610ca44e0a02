// The rows of spans, by name and as a tree, and what samples say of them.
#include <gtest/gtest.h>

#include <cmath>

#include <map>
#include <string>

#include "base/units.h"
#include "profile/span_table.h"
#include "profile/spans.h"
#include "support/text_markers.h"
#include "support/text_profile.h"

namespace sampan::profile {
namespace {

Profile profile_with(const std::string& samples, const std::string& markers) {
  Profile profile = test::profile_of(samples);
  test::add_markers(&profile, markers);
  return profile;
}

std::string name_of(const Profile& profile, const SpanRow& row) {
  return profile.markers.texts[row.name];
}

// "a 2 30 | b 1 5": names, counts and totals in ms; rows of a tree with '.' for each row above.
std::string rows_text(const Profile& profile, const SpanTable& table) {
  std::string text;
  for (const SpanRow& row : table.rows) {
    text += (text.empty() ? "" : " | ") + std::string(row.depth, '.') + name_of(profile, row) +
            " " + std::to_string(row.count) + " " + std::to_string(row.total_ns / kNsPerMs);
  }
  return text;
}

TEST(SpanParents, AreFoundByIdWithinTheProcess) {
  const Profile profile = profile_with(
      "# process 1 /bin/a\n# thread 1 a\nf 1\n# process 2 /bin/b\n# thread 2 b\nf 1\n",
      "span 1 0 10 outer id=7\nspan 1 1 2 inner id=8 parent=7\nspan 2 1 2 other id=9 parent=7\n"
      "span 1 3 4 lost id=10 parent=99\n");
  EXPECT_EQ(span_parents(profile), (std::vector<uint32_t>{kNone, 0, kNone, kNone}));
}

TEST(SpanParents, HaveAnEndWhateverTheRecordingSays) {
  const Profile profile =
      profile_with("f 1\n",
                   "span 100 0 10 itself id=1 parent=1\n"
                   "span 100 5 10 a id=2 parent=3\nspan 100 5 10 b id=3 parent=2\n"
                   "span 100 6 7 late id=4 parent=5\nspan 100 8 9 x id=5\n");
  EXPECT_EQ(span_parents(profile), (std::vector<uint32_t>{kNone, kNone, 1, kNone, kNone}));
}

TEST(SpanRanking, SortsByTotalAndRanksPercentiles) {
  std::string markers = "span 100 500 501 other\n";
  for (int i = 1; i <= 100; ++i) {  // 1 to 100 ms, not in order
    const int ms = i * 37 % 101;
    markers += "span 100 " + std::to_string(1000 * i) + " " + std::to_string(1000 * i + ms) +
               " work" + (i % 10 == 0 ? " closed=1\n" : "\n");
  }
  const Profile profile = profile_with("f 1\n", markers);
  const SpanTable table = span_ranking(select(profile));
  EXPECT_EQ(rows_text(profile, table), "work 100 5050 | other 1 1");
  const SpanRow& work = table.rows[0];
  EXPECT_EQ(work.min_ns, 1 * kNsPerMs);
  EXPECT_EQ(work.max_ns, 100 * kNsPerMs);
  EXPECT_EQ(work.p50_ns, 50 * kNsPerMs);
  EXPECT_EQ(work.p95_ns, 95 * kNsPerMs);
  EXPECT_EQ(work.p99_ns, 99 * kNsPerMs);
  EXPECT_EQ(work.average_ns(), 50.5 * kNsPerMs);
  EXPECT_EQ(work.closed[1], 10u);
  EXPECT_EQ(work.not_ended(), 10u);
  EXPECT_EQ(table.rows[1].p50_ns, kNsPerMs);
  EXPECT_EQ(table.rows[1].p99_ns, kNsPerMs);
}

TEST(SpanRanking, IsOfTheThreadsAndTheTimeOfTheView) {
  const Profile profile = profile_with("f 1\n# thread 101 w\nf 1\n",
                                       "span 100 0 10 a\nspan 101 5 9 a\nspan 101 20 21 b\n"
                                       "span 100 30 40 gone to=101\n");
  Selection selection;
  selection.threads = {"w"};
  EXPECT_EQ(rows_text(profile, span_ranking(select(profile, selection))),
            "gone 1 10 | a 1 4 | b 1 1");
  selection = {.from_s = 0.0095, .to_s = 0.020};
  EXPECT_EQ(rows_text(profile, span_ranking(select(profile, selection))), "a 1 10 | b 1 1");
  selection = {.from_s = 1.0};
  EXPECT_EQ(rows_text(profile, span_ranking(select(profile, selection))), "");
}

constexpr const char* kRequests =
    "span 100 0 100 request id=1 to=101\n"
    "span 101 10 50 work id=2 parent=1\n"
    "span 101 20 30 parse id=3 parent=2\n"
    "span 101 30 35 parse id=4 parent=2\n"
    "span 101 200 220 parse id=5\n"
    "span 101 205 215 parse id=6 parent=5\n";

TEST(SpanTree, HasARowPerPath) {
  const Profile profile = profile_with("f 1\n# thread 101 w\nf 1\n", kRequests);
  const std::vector<uint32_t> parents = span_parents(profile);
  EXPECT_EQ(rows_text(profile, span_tree(select(profile), parents)),
            "request 1 100 | .work 1 40 | ..parse 2 15 | parse 1 20 | .parse 1 10");
  // Without the thread that ends the request; without what is over.
  Selection selection;
  selection.threads = {"app"};
  EXPECT_EQ(rows_text(profile, span_tree(select(profile, selection), parents)), "request 1 100");
  selection = {.from_s = 0.216};
  EXPECT_EQ(rows_text(profile, span_tree(select(profile, selection), parents)), "parse 1 20");
}

std::map<std::string, SpanTime> times_of(const Profile& profile, const SpanTable& table,
                                         State state = State::kAll) {
  SampledSpans sampled(profile);
  View view = select(profile);
  view.state = state;
  const std::vector<SpanTime> times = span_times(view, table, sampled);
  std::map<std::string, SpanTime> result;
  for (size_t i = 0; i < times.size(); ++i) result[name_of(profile, table.rows[i])] = times[i];
  return result;
}

TEST(SpanTimes, CountSamplesOnCpuWhereTheyWereTaken) {
  // At 4, 8, ... 240 ms, 4 ms each.
  const Profile profile = profile_with("f 60\n# thread 101 w\nf 60\n", kRequests);
  const auto times = times_of(profile, span_ranking(select(profile)));
  EXPECT_EQ(times.at("work").cpu.total_ns, 40 * kNsPerMs);  // 12, 16, ... 48
  EXPECT_EQ(times.at("work").cpu.self_ns, 24 * kNsPerMs);
  EXPECT_EQ(times.at("parse").cpu.total_ns, (16 + 20) * kNsPerMs);  // 20, 24, 28, 32; 200, ... 216
  EXPECT_EQ(times.at("parse").cpu.self_ns, (16 + 20) * kNsPerMs);
  EXPECT_EQ(times.at("request").cpu.total_ns, 40 * kNsPerMs)
      << "what its nested spans have, wherever";
  EXPECT_EQ(times.at("request").cpu.self_ns, 0u);
  EXPECT_EQ(times.at("work").samples, 10u);
  EXPECT_EQ(times.at("work").waiting.total_ns, 0u);
  EXPECT_EQ(times_of(profile, span_ranking(select(profile)), State::kWaiting).at("work").samples,
            0u);
}

TEST(SpanTimes, SayHowFarOffTheyMayBe) {
  // The sample at 12 stands for 8 to 12, of which 2 ms are of the span, the one at 52 for 48 to 52.
  const Profile profile = profile_with("f 60\n", "span 100 10 50 work\nspan 100 100 120 fits\n");
  const auto times = times_of(profile, span_ranking(select(profile)));
  EXPECT_DOUBLE_EQ(times.at("work").cpu.variance, 2 * 2. * kNsPerMs * 2. * kNsPerMs);
  EXPECT_DOUBLE_EQ(times.at("work").cpu.error_ns(), 2 * std::sqrt(8.) * kNsPerMs);
  EXPECT_EQ(times.at("fits").cpu.variance, 0);
}

TEST(SpanTimes, SayThatTheyDoNotKnowWhereAThreadRestedInBetween) {
  // 4 ms of CPU between 4 and 104 ms, sampled in the span that was open for the last 20 of them.
  Profile profile = profile_with("f 2\n", "span 100 84 110 work\n");
  profile.samples[1].time_ns = 104 * kNsPerMs;
  const auto times = times_of(profile, span_ranking(select(profile)));
  EXPECT_EQ(times.at("work").cpu.total_ns, 4 * kNsPerMs);
  EXPECT_DOUBLE_EQ(times.at("work").cpu.variance, 0.25 * 4. * kNsPerMs * 4. * kNsPerMs);
}

TEST(SpanTimes, DivideAWaitAmongTheSpansThatItWasIn) {
  Profile profile = profile_with("main;read;~read pipe:[7] 1\n~runnable 1\n",
                                 "span 100 10 50 outer id=1\nspan 100 20 40 inner id=2 parent=1\n");
  profile.samples[0].time_ns = 45 * kNsPerMs;  // waited from 5 to 45
  profile.samples[0].weight_ns = 40 * kNsPerMs;
  profile.samples[1].time_ns = 49 * kNsPerMs;
  profile.samples[1].weight_ns = 2 * kNsPerMs;
  const auto times = times_of(profile, span_ranking(select(profile)));
  EXPECT_EQ(times.at("outer").waiting.total_ns, 35 * kNsPerMs);
  EXPECT_EQ(times.at("outer").waiting.self_ns, 15 * kNsPerMs);
  EXPECT_EQ(times.at("inner").waiting.total_ns, 20 * kNsPerMs);
  EXPECT_EQ(times.at("inner").waiting.self_ns, 20 * kNsPerMs);
  EXPECT_EQ(times.at("outer").runnable.total_ns, 2 * kNsPerMs);
  EXPECT_EQ(times.at("inner").runnable.total_ns, 0u);
  EXPECT_EQ(times.at("outer").cpu.total_ns, 0u);
}

TEST(SpanTimes, CountANameInsideItselfOnce) {
  const Profile profile = profile_with("f 60\n",
                                       "span 100 0 100 f id=1\nspan 100 10 90 f id=2 parent=1\n"
                                       "span 100 20 80 f id=3 parent=2\n");
  EXPECT_EQ(times_of(profile, span_ranking(select(profile))).at("f").cpu.total_ns, 96 * kNsPerMs);
}

}  // namespace
}  // namespace sampan::profile

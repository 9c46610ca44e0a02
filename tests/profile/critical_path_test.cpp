// The critical path of threads, spans and sections whose waits are made up.
#include "profile/critical_path.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "base/error.h"
#include "profile/load.h"

namespace sampan::profile {
namespace {

constexpr uint32_t kMain = 0, kWorker = 1, kHelper = 2, kQuiet = 3;
constexpr uint32_t kCondition = 0, kMutex = 1;

recording::LockWait wait_of(uint32_t thread, uint64_t begin_ns, uint64_t end_ns, uint32_t lock,
                            uint32_t waker, uint64_t woken_ns) {
  recording::LockWait row;
  row.thread = thread;
  row.begin_ns = SessionNs::at(begin_ns);
  row.duration_ns = end_ns - begin_ns;
  row.limit_ns = 1;
  row.lock = lock;
  row.waker = waker;
  row.woken_ns = SessionNs::at(woken_ns);
  return row;
}

// From `begin_ns` on, a sample for each 10 ns until `end_ns`, in the function of the thread.
void run(recording::Recording* rows, uint32_t thread, uint64_t begin_ns, uint64_t end_ns) {
  for (uint64_t ns = begin_ns + 10; ns <= end_ns; ns += 10) {
    rows->samples.push_back(
        {.thread = thread, .stack = thread, .time_ns = SessionNs::at(ns), .weight_ns = 10});
  }
}

// Main waits from 100 to 700 for the worker, which wakes it at 690. The worker waits from 300 to 500 for the helper,
// which lets it go on at 480.
recording::Recording three_threads() {
  recording::Recording rows;
  rows.session.program = "app";
  rows.processes = {{.pid = 1, .start_ns = 0, .name = "/bin/app"}};
  const char* const names[] = {"main", "worker", "helper", "quiet"};
  rows.modules = {{"/bin/app", {}, 0, 0x9000}};
  for (uint32_t i = 0; i < std::size(names); ++i) {
    rows.threads.push_back(
        {.process = 0, .tid = static_cast<int32_t>(i + 1), .start_ns = 0, .name = names[i]});
    rows.frames.push_back({0, 0x1000 + 16 * i});
    rows.stacks.push_back({kNone, i});
  }
  rows.locks = {{0, 0x7000, kNone, kNone, wire::LockKind::kCondition},
                {0, 0x7100, kNone, kNone, wire::LockKind::kMutex}};
  rows.watch_changes = {{0, 0, Watched::kLocks, 1}};
  run(&rows, kMain, 0, 100);
  run(&rows, kWorker, 0, 300);
  run(&rows, kHelper, 0, 480);
  run(&rows, kWorker, 500, 690);
  run(&rows, kMain, 700, 1000);
  std::ranges::stable_sort(rows.samples, {}, &recording::Sample::time_ns);
  rows.lock_waits = {wait_of(kWorker, 300, 500, kMutex, kHelper, 480),
                     wait_of(kMain, 100, 700, kCondition, kWorker, 690)};
  return rows;
}

Profile loaded(recording::Recording rows) {
  Profile profile = load(std::move(rows));
  for (uint32_t i = 0; i < profile.threads.size(); ++i) {
    profile.locations[i].first_line = static_cast<uint32_t>(profile.lines.size());
    profile.locations[i].line_count = 1;
    profile.lines.push_back({.function = i});
    profile.functions.push_back({.name = profile.strings.intern(profile.threads[i].name)});
  }
  return profile;
}

uint64_t of(const CriticalPath& path, uint32_t thread, PathPart part) {
  uint64_t ns = 0;
  for (const PathRow& row : path.rows) {
    if (row.thread == thread && row.part == part) ns += row.ns;
  }
  return ns;
}

uint64_t sum(const CriticalPath& path) {
  return std::accumulate(path.rows.begin(), path.rows.end(), uint64_t{0},
                         [](uint64_t ns, const PathRow& row) { return ns + row.ns; });
}

TEST(CriticalPath, GoesOverThoseWhoWokeToWhatTheyDid) {
  const Profile profile = loaded(three_threads());
  const CriticalPath path = critical_path(select(profile), "main");
  EXPECT_EQ(path.intervals, 1u);
  EXPECT_EQ(path.total_ns, 1000u);
  EXPECT_EQ(sum(path), 1000u);
  ASSERT_EQ(path.rows.size(), 5u);
  EXPECT_EQ(path.rows.front().thread, kHelper);
  EXPECT_EQ(path.rows.front().function, kHelper);
  EXPECT_EQ(of(path, kHelper, PathPart::kCpu), 480u);
  EXPECT_EQ(of(path, kMain, PathPart::kCpu), 300u);
  EXPECT_EQ(of(path, kMain, PathPart::kWoken), 10u);
  EXPECT_EQ(of(path, kWorker, PathPart::kCpu), 190u);
  EXPECT_EQ(of(path, kWorker, PathPart::kWoken), 20u);
  ASSERT_EQ(path.handovers.size(), 2u);
  EXPECT_EQ(path.handovers[0].waiter, kMain);
  EXPECT_EQ(path.handovers[0].waker, kWorker);
  EXPECT_EQ(path.handovers[0].lock, kCondition);
  EXPECT_EQ(path.handovers[1].waker, kHelper);
}

TEST(CriticalPath, OfSpansIsTheirSum) {
  recording::Recording rows = three_threads();
  rows.markers.texts = {"", "request", "phase"};
  rows.markers.spans = {
      {.begin_ns = 600, .end_ns = 800, .id = 1, .name = 1, .thread = kMain, .end_thread = kMain},
      {.begin_ns = 900, .end_ns = 1000, .id = 2, .name = 1, .thread = kMain, .end_thread = kMain}};
  rows.markers.sections = {
      {.begin_ns = 0, .end_ns = 510, .process = 0, .thread = kWorker, .name = 2},
      {.begin_ns = 900, .end_ns = 1000, .process = 0, .name = 2}};
  const Profile profile = loaded(rows);
  const CriticalPath spans = critical_path(select(profile), "request");
  EXPECT_EQ(spans.intervals, 2u);
  EXPECT_EQ(spans.total_ns, 300u);
  EXPECT_EQ(sum(spans), 300u);
  EXPECT_EQ(of(spans, kMain, PathPart::kCpu), 200u);
  EXPECT_EQ(of(spans, kMain, PathPart::kWoken), 10u);
  EXPECT_EQ(of(spans, kWorker, PathPart::kCpu), 90u);  // what it did before 600 is before the span
  const CriticalPath sections = critical_path(select(profile), "phase");
  EXPECT_EQ(sections.intervals, 2u);
  EXPECT_EQ(of(sections, kMain, PathPart::kCpu),
            100u);  // a section of the process is its main thread's
  EXPECT_EQ(of(sections, kWorker, PathPart::kCpu), 10u);
  EXPECT_EQ(of(sections, kHelper, PathPart::kCpu), 480u);
  EXPECT_EQ(of(sections, kWorker, PathPart::kWoken), 20u);
}

TEST(CriticalPath, OfPartOfTheTime) {
  const Profile profile = loaded(three_threads());
  Selection part;
  part.from_s = 600e-9;
  part.to_s = 800e-9;
  const CriticalPath path = critical_path(select(profile, part), "main");
  EXPECT_EQ(path.total_ns, 200u);
  EXPECT_EQ(of(path, kWorker, PathPart::kCpu), 90u);
}

TEST(CriticalPath, SaysWhatNoSampleStandsFor) {
  const Profile profile = loaded(three_threads());
  const CriticalPath path = critical_path(select(profile), "quiet");
  ASSERT_EQ(path.rows.size(), 1u);
  EXPECT_EQ(path.rows[0].part, PathPart::kUnsampled);
  EXPECT_EQ(path.rows[0].ns, 1000u);
}

TEST(CriticalPath, StaysWhereNobodyIsKnownToHaveEndedTheWait) {
  recording::Recording rows = three_threads();
  rows.lock_waits.back().waker = kNone;
  const Profile profile = loaded(rows);
  const CriticalPath path = critical_path(select(profile), "main");
  EXPECT_EQ(of(path, kMain, PathPart::kNotKnown), 600u);
  EXPECT_EQ(of(path, kMain, PathPart::kCpu), 400u);
  EXPECT_TRUE(path.handovers.empty());
}

// A thread that began while the other one waited: before that, nobody waited for it.
TEST(CriticalPath, GoesBackToTheFirstThreadWhereAnotherBegan) {
  recording::Recording rows = three_threads();
  rows.threads[kWorker].start_ns = 510;
  const Profile profile = loaded(rows);
  const CriticalPath path = critical_path(select(profile), "main");
  EXPECT_EQ(sum(path), 1000u);
  EXPECT_EQ(of(path, kWorker, PathPart::kCpu), 180u);
  EXPECT_EQ(of(path, kHelper, PathPart::kCpu), 0u);
}

TEST(CriticalPath, WaitingSamplesCountForTheTimeThatIsOnThePath) {
  recording::Recording rows = three_threads();
  rows.waits.emplace_back().call = "read";
  rows.samples.push_back(
      {.thread = kQuiet, .stack = kQuiet, .time_ns = 1000, .weight_ns = 900, .wait = 0});
  const Profile profile = loaded(rows);
  const CriticalPath path = critical_path(select(profile), "quiet");
  EXPECT_EQ(of(path, kQuiet, PathPart::kWait), 900u);
  EXPECT_EQ(of(path, kQuiet, PathPart::kUnsampled), 100u);
}

// Whatever a recording says, the walk ends and its rows add up.
TEST(CriticalPath, OfAnyWaitsAddsUp) {
  std::mt19937 random(1);
  const auto any = [&](uint64_t most) {
    return std::uniform_int_distribution<uint64_t>(0, most)(random);
  };
  for (int round = 0; round < 2000; ++round) {
    recording::Recording rows = three_threads();
    for (auto& thread : rows.threads) thread.start_ns = SessionNs::at(any(1) * any(1000));
    rows.lock_waits.clear();
    for (uint64_t i = any(20); i > 0; --i) {
      const uint64_t begin_ns = any(1000);
      rows.lock_waits.push_back(wait_of(static_cast<uint32_t>(any(3)), begin_ns, begin_ns + any(50),
                                        kMutex, static_cast<uint32_t>(any(3)), any(1200)));
    }
    const Profile profile = loaded(rows);
    for (const char* thread : {"main", "worker", "helper", "quiet"}) {
      const CriticalPath path = critical_path(select(profile), thread);
      ASSERT_EQ(sum(path), path.total_ns) << thread << ", round " << round;
    }
  }
}

TEST(CriticalPath, RefusesWhatIsNotThere) {
  const Profile profile = loaded(three_threads());
  EXPECT_THROW(critical_path(select(profile), "worke"), Error);
  recording::Recording rows = three_threads();
  rows.lock_waits.clear();
  rows.watch_changes.clear();
  const Profile without = loaded(rows);
  EXPECT_THROW(critical_path(select(without), "main"), Error);
}

}  // namespace
}  // namespace sampan::profile

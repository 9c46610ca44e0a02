// The heap from draws, beside truth that is known: every allocation is made up here, and drawn as a
// program would be sampled.
#include "profile/heap.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "base/error.h"
#include "profile/heap_tables.h"
#include "profile/load.h"
#include "profile/shown.h"

namespace sampan::profile {
namespace {

constexpr uint64_t kMeanBytes = 512 << 10;
constexpr double kDeviations = 5;  // fails once in two million runs; the seeds are fixed besides

// One process with two threads and functions that are frames without names. Poisson sampling by bytes:
// an allocation is drawn if the next draw lies within it.
class MadeUpHeap {
 public:
  explicit MadeUpHeap(uint32_t seed, uint32_t functions = 4) : random_(seed) {
    recording_.session.program = "app";
    recording_.processes = {{.pid = 1, .start_ns = 0, .name = "/bin/app"}};
    recording_.threads = {{.process = 0, .tid = 1, .start_ns = 0, .name = "main"},
                          {.process = 0, .tid = 2, .start_ns = 0, .name = "worker"}};
    for (uint32_t i = 0; i < functions; ++i) {
      recording_.frames.push_back({kNone, 0x1000 + 16 * i});
      recording_.stacks.push_back({i == 0 ? kNone : 0, i});  // the first one calls the others
    }
    recording_.watch_changes = {{0, 0, Watched::kHeap, kMeanBytes}};
    recording_.end.emplace().time_ns = 1000;
    next_ = gap();
  }

  // Returns its number: 0 if it was not drawn.
  uint64_t allocate(uint32_t function, uint64_t size, SessionNs time_ns, uint32_t thread = 0) {
    next_ -= static_cast<double>(size);
    if (next_ > 0) return 0;
    next_ = gap();
    recording_.allocations.push_back({.thread = thread,
                                      .stack = function,
                                      .time_ns = time_ns,
                                      .id = ++ids_,
                                      .size = size,
                                      .mean = kMeanBytes});
    return ids_;
  }
  void free(uint64_t id, SessionNs time_ns, uint32_t function = 0, uint32_t thread = 1) {
    if (id != 0) recording_.frees.push_back({thread, function, time_ns, id});
  }
  recording::Recording& recording() { return recording_; }
  Profile profile() const {
    Profile profile = load(recording_);
    for (Location& location : profile.locations) {  // a function for each frame
      location.first_line = static_cast<uint32_t>(profile.lines.size());
      location.line_count = 1;
      profile.lines.push_back({.function = static_cast<uint32_t>(profile.functions.size())});
      profile.functions.push_back({});
    }
    show_heap(&profile);
    return profile;
  }

 private:
  double gap() {
    return std::exponential_distribution<>(1.0 / static_cast<double>(kMeanBytes))(random_);
  }

  std::mt19937_64 random_;
  recording::Recording recording_;
  double next_ = 0;
  uint64_t ids_ = 0;
};

double deviation(const Estimate& sum) {
  return std::sqrt(sum.bytes_variance);
}

TEST(Heap, AnAllocationStandsForThoseThatWereNotDrawn) {
  Block small, large;
  small.size = 16;
  small.mean = large.mean = kMeanBytes;
  large.size = 64 << 20;
  EXPECT_NEAR(drawn(small).bytes, kMeanBytes, 16);  // nearly the mean
  EXPECT_NEAR(drawn(small).blocks, kMeanBytes / 16.0, 1);
  EXPECT_NEAR(drawn(large).bytes, 64 << 20, 1);  // nearly itself
  EXPECT_NEAR(drawn(large).blocks, 1, 1e-9);
  EXPECT_EQ(drawn(Block{}).bytes, 0);  // hostile: neither a size nor a mean
  Block huge;
  huge.size = UINT64_MAX;
  huge.mean = 1;
  EXPECT_TRUE(std::isfinite(drawn(huge).bytes));
}

// Sizes of 16 B to 8 MB by four functions, some freed: all sums are the truth within what the draws allow.
TEST(Heap, SumsAreTheTruthWithinTheirError) {
  constexpr uint64_t kSizes[] = {16, 1000, 100'000, 8 << 20};
  MadeUpHeap heap(1);
  std::mt19937 random(2);
  double allocated[4] = {}, live[4] = {}, blocks = 0, all = 0, all_live = 0;
  for (int i = 0; i < 400'000; ++i) {
    const uint32_t function = random() % 4;
    const uint64_t size = kSizes[function];
    if (function == 3 && i % 100 != 0) continue;  // else it were nearly all of the bytes
    const uint64_t id = heap.allocate(function, size, 10);
    const bool is_freed = random() % 3 != 0;
    if (is_freed) heap.free(id, 20);
    allocated[function] += static_cast<double>(size);
    if (!is_freed) live[function] += static_cast<double>(size);
    ++blocks;
  }
  for (int i = 0; i < 4; ++i) {
    all += allocated[i];
    all_live += live[i];
  }
  const Profile profile = heap.profile();
  const View view = select(profile);
  const HeapTotals totals = heap_totals(view);
  EXPECT_NEAR(totals.allocated.bytes, all, kDeviations * deviation(totals.allocated));
  EXPECT_NEAR(totals.live.bytes, all_live, kDeviations * deviation(totals.live));
  EXPECT_NEAR(totals.allocated.blocks, blocks,
              kDeviations * std::sqrt(totals.allocated.blocks_variance));
  EXPECT_LT(deviation(totals.allocated), 0.02 * all);  // else the test says nothing
  std::map<uint32_t, HeapFunction> rows;
  for (const HeapFunction& row : heap_functions(view)) rows[row.function] = row;
  for (uint32_t i = 1; i < 4; ++i) {
    EXPECT_NEAR(rows[i].allocated.bytes, allocated[i], kDeviations * deviation(rows[i].allocated))
        << i;
    EXPECT_NEAR(rows[i].live.bytes, live[i], kDeviations * deviation(rows[i].live)) << i;
  }
  EXPECT_DOUBLE_EQ(rows[0].allocated_total.bytes, totals.allocated.bytes);  // it calls the others
  EXPECT_LT(rows[0].allocated.bytes, rows[0].allocated_total.bytes);
}

// 95 % of the intervals have the truth: 1,000 heaps of about 100 draws.
TEST(Heap, IntervalsHaveTheTruthAsOftenAsTheySay) {
  int hits = 0;
  double sum = 0;
  for (uint32_t seed = 0; seed < 1000; ++seed) {
    MadeUpHeap heap(seed);
    for (int i = 0; i < 1000; ++i) heap.allocate(1, 50 << 10, 10);
    const Profile profile = heap.profile();
    const Estimate all = estimate(select(profile, {.heap = HeapPart::kAllocated}));
    hits += std::abs(all.bytes - 1000.0 * (50 << 10)) <= all.bytes_error();
    sum += all.bytes;
  }
  // A binomial of 1,000 and 0.95 has a deviation of 7; the mean of the sums one of 1/310.
  EXPECT_NEAR(hits, 950, 35);
  EXPECT_NEAR(sum / 1000, 1000.0 * (50 << 10), 0.016 * 1000 * (50 << 10));
}

TEST(Heap, BlocksLiveFromTheirAllocationToTheirFree) {
  MadeUpHeap heap(3);
  recording::Recording& rows = heap.recording();
  const auto add = [&](uint64_t id, SessionNs time_ns, bool earlier = false) {
    recording::Allocation row{.thread = 0, .stack = 1, .time_ns = time_ns, .id = id};
    row.size = 100 * kMeanBytes;  // certain to be drawn
    row.mean = kMeanBytes;
    row.earlier = earlier;
    rows.allocations.push_back(row);
  };
  constexpr double kSize = 100 * kMeanBytes;
  add(1, 0, true);
  add(2, 100);
  add(3, 200);
  heap.free(2, 150);
  heap.free(1, 300);
  heap.free(99, 300);  // not in the recording
  const Profile profile = heap.profile();
  EXPECT_EQ(profile.unknown_frees, 1u);
  const auto bytes = [&](Selection selection) {
    return estimate(select(profile, selection)).bytes / kSize;
  };
  EXPECT_NEAR(bytes({.heap = HeapPart::kAllocated}), 2, 1e-9);  // not the earlier one
  EXPECT_NEAR(bytes({}), 1, 1e-9);
  EXPECT_NEAR(bytes({.to_s = 120e-9}), 2, 1e-9);
  EXPECT_NEAR(bytes({.to_s = 170e-9}), 1, 1e-9);
  EXPECT_NEAR(bytes({.from_s = 150e-9, .to_s = 250e-9}), 1, 1e-9);
  EXPECT_NEAR(bytes({.to_s = 120e-9, .heap = HeapPart::kAllocated}), 1, 1e-9);
  const HeapTotals totals = heap_totals(select(profile));
  EXPECT_NEAR(totals.peak_bytes / kSize, 2, 1e-9);
  EXPECT_EQ(totals.peak_ns, 100u);
  EXPECT_EQ(totals.median_life_ns, 50u);
  EXPECT_EQ(totals.long_life_ns, 300u);
  // The other part of any view.
  const View live = select(profile);
  EXPECT_EQ(heap_part(live, HeapPart::kAllocated).samples.size(), 2u);
  EXPECT_EQ(heap_part(live, HeapPart::kLive).samples, live.samples);
}

TEST(Heap, TheMemoryOfAProcessEndsWithIt) {
  MadeUpHeap heap(4);
  heap.recording().process_ends.resize(1);
  heap.recording().process_ends[0].process = 0;
  heap.recording().process_ends[0].time_ns = 500;
  recording::Allocation row{.thread = 0, .stack = 1, .time_ns = 100, .id = 1};
  row.size = row.mean = kMeanBytes;
  heap.recording().allocations = {row};
  const Profile profile = heap.profile();
  EXPECT_EQ(select(profile).samples.size(), 1u);  // it lived when the process ended
  EXPECT_EQ(select(profile, {.to_s = 400e-9}).samples.size(), 1u);
  EXPECT_EQ(select(profile, {.to_s = 600e-9}).samples.size(), 0u);
}

TEST(Heap, ABlockIsCountedOnce) {
  MadeUpHeap heap(5);
  recording::Allocation row{.thread = 0, .stack = 1, .time_ns = 100, .id = 7};
  row.size = row.mean = kMeanBytes;
  heap.recording().allocations = {row, row};
  heap.free(7, 50);  // stamped before its allocation
  heap.free(7, 200);
  const Profile profile = heap.profile();
  ASSERT_EQ(profile.blocks.size(), 1u);
  EXPECT_EQ(profile.blocks[0].freed_ns, 100u);
  EXPECT_EQ(profile.damage.size(), 1u);
}

// Function 1 leaks all, 2 frees all, 3 keeps what it made in the second half.
TEST(Heap, LeaksAndGrowthAreFound) {
  MadeUpHeap heap(6);
  for (uint64_t i = 0; i < 2000; ++i) {
    const auto time_ns = SessionNs::at(i / 2);
    heap.allocate(1, 64 << 10, time_ns);
    heap.free(heap.allocate(2, 256 << 10, time_ns), time_ns + 1, 3);
    const uint64_t id = heap.allocate(3, 64 << 10, time_ns);
    if (i < 1000) heap.free(id, time_ns + 1);
  }
  const Profile profile = heap.profile();
  const View view = select(profile);
  const std::vector<PossibleLeak> leaks = possible_leaks(view);
  ASSERT_EQ(leaks.size(), 1u);
  EXPECT_EQ(leaks[0].stack, 1u);
  EXPECT_DOUBLE_EQ(leaks[0].survived, 1);
  EXPECT_NEAR(leaks[0].early.bytes, 1000.0 * (64 << 10), kDeviations * deviation(leaks[0].early));
  EXPECT_GT(leaks[0].late.draws, 0u);
  const std::vector<Growth> growth = heap_growth(view);
  for (const Growth& row : growth) {
    if (row.function == 2) continue;  // the last one may live at the middle
    EXPECT_TRUE(row.function == 1 || row.function == 3);
    EXPECT_NEAR(row.bytes(), 1000.0 * (64 << 10), kDeviations / 1.96 * row.error_bytes);
  }
  const std::vector<FreedBy> freed = freed_by(view);
  ASSERT_FALSE(freed.empty());
  EXPECT_EQ(freed[0].allocating, 2u);
  EXPECT_EQ(freed[0].freeing, 3u);
}

TEST(Heap, IsShownAsSamples) {
  MadeUpHeap heap(7);
  for (int i = 0; i < 100; ++i) heap.allocate(1, kMeanBytes, 10, i % 2);
  const Profile profile = heap.profile();
  EXPECT_EQ(profile.session.unit, "bytes");
  EXPECT_EQ(profile.samples.size(), profile.blocks.size());
  EXPECT_FALSE(profile.has_waits());
  const View view = select(profile, {.threads = {"worker"}});
  const Estimate sum = estimate(view);
  EXPECT_NEAR(static_cast<double>(total_weight(view).ns) / 1000, sum.bytes,
              static_cast<double>(sum.draws));
  double stacks = 0;
  for (const HeapStack& row : heap_stacks(view)) stacks += row.live.bytes;
  EXPECT_DOUBLE_EQ(stacks, sum.bytes);
}

TEST(Heap, NothingRecordedIsSaid) {
  Profile profile;
  EXPECT_THROW(show_heap(&profile), Error);
  profile.watch_changes = {{0, 0, Watched::kHeap, kMeanBytes}};
  show_heap(&profile);  // asked for, but nothing was drawn
  EXPECT_TRUE(profile.samples.empty());
}

TEST(Heap, TimesWithoutItAreKnown) {
  MadeUpHeap heap(8);
  heap.recording().watch_changes = {{0, 100, Watched::kHeap, 1000},
                                    {0, 300, Watched::kHeap, 0},
                                    {0, 400, Watched::kHeap, 2000},
                                    {0, 500, Watched::kLocks, 0}};
  const WatchedTime time = watched_time(heap.profile(), Watched::kHeap);
  EXPECT_EQ(time.on_ns, 800u);
  EXPECT_EQ(time.lived_ns, 1000u);
  EXPECT_EQ(time.least_setting, 1000u);
  EXPECT_EQ(time.most_setting, 2000u);
}

}  // namespace
}  // namespace sampan::profile

// Rows of what is recorded besides samples: settings, allocations, frees, locks and waits for them.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "recording/codec.h"
#include "recording/complete_file.h"
#include "recording/example.h"
#include "recording/living_blocks.h"
#include "recording/merge.h"
#include "recording/segments.h"

namespace sampan::recording {
namespace {

constexpr uint64_t kMean = 512 << 10;

std::vector<Frame> frames_of(const Recording& recording, uint32_t stack) {
  std::vector<Frame> frames;
  for (; stack != kNone; stack = recording.stacks[stack].prefix) {
    frames.push_back(recording.frames[recording.stacks[stack].frame]);
  }
  return frames;
}

void expect_example(const Recording& recording) {
  EXPECT_TRUE(recording.damage.empty());
  ASSERT_EQ(recording.watch_changes.size(), 2u);
  EXPECT_EQ(recording.watch_changes[1].time_ns, 8'000'000u);
  EXPECT_EQ(recording.watch_changes[1].setting, kMean);
  ASSERT_EQ(recording.allocations.size(), 4u);
  const Allocation& small = recording.allocations[2];
  EXPECT_EQ(small.thread, 0u);
  EXPECT_EQ(small.time_ns, 8'000'000u);
  EXPECT_EQ(small.id, 2u);
  EXPECT_EQ(small.size, 100u);
  EXPECT_EQ(small.mean, kMean);
  EXPECT_FALSE(small.earlier);
  EXPECT_EQ(frames_of(recording, small.stack),
            (std::vector<Frame>{{1, 0x1235}, {0, 0x2010}, {0, 0x1100}}));
  const Allocation& large = recording.allocations[3];
  EXPECT_EQ(large.stack, kNone);
  EXPECT_EQ(large.time_ns, 8'000'005u);
  EXPECT_EQ(large.id, 1002u);
  EXPECT_EQ(large.kind, AllocationKind::kMapping);
  EXPECT_EQ(large.stop, wire::StopReason::kNoRule);
  EXPECT_TRUE(large.earlier);
  ASSERT_EQ(recording.frees.size(), 2u);
  EXPECT_EQ(recording.frees[1].thread, 1u);
  EXPECT_EQ(recording.frees[1].time_ns, 8'000'007u);
  EXPECT_EQ(recording.frees[1].id, 2u);
  EXPECT_EQ(recording.frees[1].stop, wire::StopReason::kNoRule);
  ASSERT_EQ(recording.locks.size(), 2u);
  EXPECT_EQ(recording.locks[1].address, 0x7020u);
  EXPECT_EQ(recording.frames[recording.locks[1].frame], (Frame{0, 0x8000}));
  EXPECT_EQ(recording.frames[recording.locks[1].origin], (Frame{0, 0x1200}));
  EXPECT_EQ(recording.locks[1].kind, LockKind::kWriteLock);
  ASSERT_EQ(recording.lock_waits.size(), 2u);
  const LockWait& wait = recording.lock_waits[1];
  EXPECT_EQ(wait.thread, 1u);
  EXPECT_EQ(wait.begin_ns, 8'000'009u);
  EXPECT_EQ(wait.duration_ns, 3000u);
  EXPECT_EQ(wait.limit_ns, 10'000u);
  EXPECT_EQ(wait.lock, 1u);
  EXPECT_EQ(wait.kind, LockKind::kReadLock);
  EXPECT_EQ(wait.stop, wire::StopReason::kNoRule);
  EXPECT_EQ(wait.holder, 0u);
  EXPECT_EQ(frames_of(recording, wait.holder_stack), frames_of(recording, small.stack));
  EXPECT_EQ(wait.waker, 0u);
  EXPECT_EQ(wait.waker_stack, kNone);
  EXPECT_EQ(wait.woken_ns, 8'003'000u);
}

Recording example() {
  const test::ScratchDirectory directory;
  Writer writer(directory.file("a.sampan"), example_session());
  write_example(writer, 2);
  writer.finish(example_end());
  return read(directory.file("a.sampan"));
}

TEST(WatchRows, ComeBack) {
  expect_example(example());
}

TEST(WatchRows, AreWrittenAgainFromMemory) {
  const test::ScratchDirectory directory;
  write(example(), directory.file("b.sampan"));
  expect_example(read(directory.file("b.sampan")));
}

TEST(WatchRows, CostNothingWhereThereAreNone) {
  Recording rows;
  rows.processes = {{1, 1, 0, "app"}};
  ColumnWriter plain, with;
  encode_rows(rows, {}, &plain);
  rows.watch_changes = {{0, 5, Watched::kLocks, 0}};
  encode_rows(rows, {}, &with);
  EXPECT_TRUE(std::ranges::equal(plain.bytes(), with.bytes().first(plain.bytes().size())));
  Recording back;
  uint64_t lost = 0;
  ASSERT_TRUE(decode_rows(plain.bytes(), 1, &lost, &back));  // as version 7 wrote them
  EXPECT_TRUE(back.watch_changes.empty());
  ASSERT_TRUE(decode_rows(with.bytes().first(plain.bytes().size()), 1, &lost, &back) == false);
}

// Each byte of the tail changed to each of some values: taken with valid indexes, or refused whole.
TEST(WatchRows, HaveValidIndexesOrAreRefused) {
  Recording rows;
  rows.processes = {{1, 1, 0, "app"}};
  rows.threads = {{0, 1, 0, "app"}, {0, 2, 0, "worker"}};
  rows.frames = {{kNone, 0x30}};
  rows.stacks = {{kNone, 0}};
  ColumnWriter plain, out;
  encode_rows(rows, {}, &plain);
  rows.watch_changes = {{0, 5, Watched::kHeap, kMean}};
  rows.allocations = {{0, 0, 6, 1, 100, kMean}, {1, kNone, 7, 2, 200, kMean}};
  rows.frees = {{1, 0, 8, 1}};
  rows.locks = {{0, 0x7000, 0, kNone, LockKind::kMutex}};
  rows.lock_waits = {{0, 0, 9, 20, 10, 0, LockKind::kMutex, {}, 1, 0, 1, 0, 30}};
  encode_rows(rows, {}, &out);
  size_t refused = 0;
  for (size_t i = plain.bytes().size(); i < out.bytes().size(); ++i) {
    for (const int value : {0, 1, 2, 3, 0x0f, 0x7f, 0x80, 0xff}) {
      std::vector<uint8_t> bytes(out.bytes().begin(), out.bytes().end());
      bytes[i] = static_cast<uint8_t>(value);
      Recording back;
      uint64_t lost = 8;
      if (!decode_rows(bytes, 1, &lost, &back)) {
        ++refused;
        EXPECT_TRUE(back.allocations.empty() && back.locks.empty() && back.lock_waits.empty());
        continue;
      }
      close_gaps(&back);
      for (const Allocation& row : back.allocations) {
        ASSERT_TRUE(row.thread < 2 && (row.stack == kNone || row.stack < 1) && row.mean > 0);
      }
      for (const Free& row : back.frees) ASSERT_LT(row.thread, 2u);
      for (const Lock& row : back.locks) ASSERT_LT(row.process, back.processes.size());
      for (const LockWait& row : back.lock_waits) {
        ASSERT_LT(row.lock, back.locks.size());
        ASSERT_TRUE(row.holder == kNone || row.holder < 2);
        ASSERT_GE(row.begin_ns + row.duration_ns, row.begin_ns);
      }
    }
  }
  EXPECT_GT(refused, 0u);
}

// The first block of rows is lost: the second one's locks keep their numbers.
TEST(WatchRows, LostLocksLeavePlaceholders) {
  Recording lost_rows, rows;
  lost_rows.processes = {{1, 1, 0, "app"}};
  lost_rows.threads = {{0, 1, 0, "app"}};
  lost_rows.locks = {{0, 0x7000}, {0, 0x7010}};
  rows.locks = {{0, 0x7020}};
  rows.lock_waits = {{0, kNone, 9, 20, 10, 2}, {0, kNone, 9, 20, 10, 0}};
  const RowCounts before = counts_of(lost_rows);
  ColumnWriter out;
  encode_rows(rows, before, &out);
  Recording back;
  uint64_t lost = 4;
  ASSERT_TRUE(decode_rows(out.bytes(), 1, &lost, &back));
  close_gaps(&back);
  ASSERT_EQ(back.locks.size(), 3u);
  EXPECT_EQ(back.locks[back.lock_waits[0].lock].address, 0x7020u);
  EXPECT_EQ(back.locks[back.lock_waits[1].lock].address, 0u);
  EXPECT_LT(back.locks[0].process, back.processes.size());
}

TEST(WatchRows, MergedRecordingsKeepTheirBlocksApart) {
  const Recording one = example();
  std::vector<MergeInput> inputs = {{"a", one}, {"b", one}};
  inputs[1].recording.session.start_unix_ns += 1'000'000'000;
  const Recording two = merge(std::move(inputs), Align::kClock);
  ASSERT_EQ(two.allocations.size(), 8u);
  std::set<std::pair<uint32_t, uint64_t>> blocks;
  for (const Allocation& row : two.allocations) {
    blocks.emplace(two.threads[row.thread].process, row.id);
  }
  EXPECT_EQ(blocks.size(), 8u);
  EXPECT_EQ(two.allocations[4].time_ns, one.allocations[0].time_ns + 1'000'000'000);
  ASSERT_EQ(two.locks.size(), 4u);
  EXPECT_EQ(two.locks[2].process, 1u);
  EXPECT_EQ(two.locks[2].frame, two.locks[0].frame);
  ASSERT_EQ(two.lock_waits.size(), 4u);
  EXPECT_EQ(two.lock_waits[2].lock, 2u);
  EXPECT_EQ(two.lock_waits[2].holder, 2u);
  EXPECT_EQ(two.lock_waits[2].woken_ns, one.lock_waits[0].woken_ns + 1'000'000'000);
}

// Blocks 1 and 2 are allocated in the first second, 3 in the second; 2 is freed in the second, 1 in the
// third.
class LivingInSegments : public testing::Test {
 protected:
  LivingInSegments() : writer_(path(0), example_session()) {
    writer_.keep_living();
    process_ = writer_.add(Process{4711, 1, 0, "/usr/bin/app"});
    thread_ = writer_.add(Thread{process_, 4711, 0, "app"});
    module_ = writer_.add(Module{"/usr/bin/app", {1}, 0, 0x1000});
    writer_.add(WatchChange{process_, 0, Watched::kHeap, kMean});
    allocate(1, 100'000'000);
    allocate(2, 200'000'000);
    lock_ = writer_.add(Lock{process_, 0x7000, writer_.frame({module_, 0x900}), kNone});
    wait(0);
    writer_.rotate(path(1), 1'000'000'000);
    allocate(3, 1'300'000'000);
    writer_.add(Free{thread_, kNone, 1'400'000'000, 2});
    writer_.rotate(path(2), 2'000'000'000);
    writer_.add(Free{thread_, kNone, 2'400'000'000, 1});
    wait(2'000'000'000);
    writer_.finish(ended(3'000'000'000));
  }

  std::string path(uint32_t number) const { return directory_.file(segment_file_name(number)); }
  void allocate(uint64_t id, SessionNs time_ns) {
    const Frame frames[] = {{module_, 0x10 + id}, {module_, 0x10}};
    writer_.add(Allocation{thread_, writer_.stack(frames), time_ns, id, 100, kMean});
  }
  void wait(uint64_t later_ns) {
    LockWait row{.thread = thread_, .begin_ns = SessionNs::at(later_ns + 100)};
    row.duration_ns = 50;
    row.limit_ns = 10;
    row.lock = lock_;
    writer_.add(row);
  }
  static SessionEnd ended(SessionNs time_ns) {
    SessionEnd end;
    end.time_ns = time_ns;
    return end;
  }
  static std::set<uint64_t> ids(const Recording& recording) {
    std::set<uint64_t> ids;
    for (const Allocation& row : recording.allocations) EXPECT_TRUE(ids.insert(row.id).second);
    return ids;
  }

  test::ScratchDirectory directory_;
  Writer writer_;
  uint32_t process_, thread_, module_, lock_;
};
using Ids = std::set<uint64_t>;

TEST_F(LivingInSegments, EachFileBeginsWithTheBlocksThatLive) {
  EXPECT_EQ(ids(read(path(0))), (Ids{1, 2}));
  const Recording second = read(path(1)), third = read(path(2));
  EXPECT_EQ(ids(second), (Ids{1, 2, 3}));
  EXPECT_EQ(ids(third), (Ids{1, 3}));
  EXPECT_TRUE(second.allocations[0].earlier);
  EXPECT_FALSE(second.allocations[2].earlier);
  EXPECT_TRUE(third.allocations[1].earlier);
  EXPECT_EQ(third.allocations[0].time_ns, 100'000'000u);
  EXPECT_EQ(frames_of(third, third.allocations[1].stack),
            (std::vector<Frame>{{0, 0x13}, {0, 0x10}}));
  ASSERT_EQ(third.watch_changes.size(), 1u);
  EXPECT_EQ(third.watch_changes[0].setting, kMean);
  EXPECT_EQ(third.watch_changes[0].time_ns, 2'000'000'000u);
}

TEST_F(LivingInSegments, LocksBecomeRowsOfTheFilesThatReferToThem) {
  EXPECT_EQ(read(path(1)).locks.size(), 0u);
  const Recording third = read(path(2));
  ASSERT_EQ(third.locks.size(), 1u);
  EXPECT_EQ(third.locks[0].address, 0x7000u);
  EXPECT_EQ(third.frames[third.locks[0].frame].address, 0x900u);
}

TEST_F(LivingInSegments, JoinedEachBlockIsThereOnce) {
  const Recording joined = read_whole(directory_.file(""));
  EXPECT_EQ(ids(joined), (Ids{1, 2, 3}));
  for (const Allocation& row : joined.allocations) EXPECT_FALSE(row.earlier);
  EXPECT_EQ(joined.frees.size(), 2u);
  EXPECT_EQ(joined.locks.size(), 1u);
  EXPECT_EQ(joined.lock_waits.size(), 2u);
  EXPECT_EQ(joined.watch_changes.size(), 1u);
  const Recording later = read_segments({path(1), path(2)});
  EXPECT_EQ(ids(later), (Ids{1, 2, 3}));
  EXPECT_TRUE(later.allocations[0].earlier);
}

TEST_F(LivingInSegments, APartHasWhatLivedAtItsBegin) {
  const Recording part =
      rebased(read_segments(segment_files(directory_.file("")), 1'350'000'000, 2'350'000'000));
  EXPECT_EQ(ids(part), (Ids{1, 2, 3}));
  for (const Allocation& row : part.allocations) {
    EXPECT_TRUE(row.earlier);
    EXPECT_EQ(row.time_ns, 0u);
  }
  ASSERT_EQ(part.frees.size(), 1u);
  EXPECT_EQ(part.frees[0].id, 2u);
  EXPECT_EQ(part.frees[0].time_ns, 50'000'000u);
  EXPECT_EQ(part.lock_waits.size(), 1u);
  ASSERT_EQ(part.watch_changes.size(), 1u);
  EXPECT_EQ(part.watch_changes[0].time_ns, 0u);
  const Recording end =
      read_segments(segment_files(directory_.file("")), 1'500'000'000, 3'000'000'000);
  EXPECT_EQ(ids(end), (Ids{1, 3}));
}

// A process with more living blocks than are kept says how many are missing.
TEST(LivingBlocks, CountsWhatItDoesNotKeep) {
  LivingBlocks blocks(2);
  for (uint64_t id = 1; id <= 5; ++id) blocks.add(7, {.id = id});
  EXPECT_EQ(blocks.rows().size(), 2u);
  blocks.free(7, 1);
  blocks.add(7, {.id = 6});
  EXPECT_EQ(blocks.rows().size(), 2u);
  EXPECT_EQ(blocks.take_dropped(7), 3u);
  EXPECT_EQ(blocks.take_dropped(7), 0u);
  blocks.end(7);
  EXPECT_TRUE(blocks.rows().empty());
  blocks.add(8, {.id = 1});
  EXPECT_EQ(blocks.rows().size(), 1u);
}

}  // namespace
}  // namespace sampan::recording

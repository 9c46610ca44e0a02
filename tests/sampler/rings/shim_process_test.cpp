#include "sampler/rings/shim_process.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "fake_shim.h"
#include "recording/reader.h"

namespace sampan::sampler {
namespace {

using recording::Recording;
using wire::RecordType;

constexpr uint64_t kStart = 1'000;     // of the session
constexpr pid_t kPid = (1 << 22) + 1;  // no process has it, so nobody's clock is read

struct Process : ShimProcess {
  using ShimProcess::note_clock;
  using ShimProcess::ShimProcess;
};

// One process whose rings the test fills.
class ShimProcessTest : public testing::Test {
 protected:
  ShimProcessTest() {
    std::filesystem::remove(path_);
    writer_.emplace(path_, recording::Session{});
    SharedMemory memory(wire::kFewestSlots);
    shim_.emplace(memory.base());
    base_ = memory.base();
    process_.emplace(*writer_, ShimProcess::Origin{kPid, 99, "/bin/prog", {kStart}, kStart + 5, 0},
                     std::move(memory));
  }
  ~ShimProcessTest() override { std::filesystem::remove(path_); }

  // `clock_ns`: the process's CPU clock when it was read last; 0: it never was.
  Recording finish(const ShimProcess::End& end = {kStart + 1000}, CpuNs clock_ns = 0) {
    process_->note_clock(clock_ns);
    process_->finish(end);
    writer_->finish({});
    return recording::read(path_);
  }
  static uint64_t lost(const Recording& recording, wire::Loss loss) {
    return recording.losses.empty() ? 0 : recording.losses.back().count[static_cast<size_t>(loss)];
  }

  const std::string path_ = testing::TempDir() + "sampler-" + std::to_string(getpid()) + ".sampan";
  std::optional<recording::Writer> writer_;
  std::optional<FakeShim> shim_;
  std::optional<Process> process_;
  void* base_ = nullptr;
};

TEST_F(ShimProcessTest, WeighsSamplesByTheCpuSinceTheOneBefore) {
  shim_->thread(0, RecordType::kThreadStart, thread_start(100, kStart + 10, 500'000, "main"));
  shim_->thread(0, RecordType::kSample, sample(kStart + 20'000, 700'000, 1, 0, {0x10}));
  shim_->thread(0, RecordType::kSample, sample(kStart + 30'000, 1'700'000, 1, 1, {}));
  shim_->thread(0, RecordType::kSample,
                sample(kStart + 40'000, 1'600'000, 1, 1, {}));  // clock went back
  shim_->thread(0, RecordType::kThreadEnd, thread_end(kStart + 50, 2'000'000));
  const Recording recording = finish();
  ASSERT_EQ(recording.samples.size(), 3u);
  EXPECT_EQ(recording.samples[0].weight_ns, 200'000u);
  EXPECT_EQ(recording.samples[1].weight_ns, 1'000'000u);
  EXPECT_EQ(recording.samples[2].weight_ns, 0u);
  EXPECT_EQ(recording.samples[0].time_ns, 20'000u);
  ASSERT_EQ(recording.thread_ends.size(), 1u);
  EXPECT_EQ(recording.thread_ends[0].cpu_ns, 1'500'000u) << "from the start of sampling on";
  EXPECT_EQ(recording.thread_ends[0].time_ns, 50u);
  EXPECT_TRUE(recording.losses.empty());
}

TEST_F(ShimProcessTest, WeighsByTicksOfTheThreadsClockWhereItsCpuIsNotKnown) {
  process_->set_rate(1000);  // a thread that may not follow keeps its own
  wire::thread_slot(base_, 0)->rate_hz.store(250);
  shim_->thread(0, RecordType::kThreadStart, thread_start(100, kStart + 10, 500, "main"));
  shim_->thread(0, RecordType::kSample, sample(kStart + 20, 0, 3, 0, {0x10}));
  EXPECT_EQ(finish().samples.at(0).weight_ns, 3 * 4'000'000u);
}

TEST_F(ShimProcessTest, LeavesOutWhatWasUsedWhileSamplingWasOff) {
  shim_->thread(0, RecordType::kThreadStart, thread_start(100, kStart + 10, 500'000, "main"));
  shim_->thread(0, RecordType::kSample, sample(kStart + 20'000, 1'500'000, 1, 0, {0x10}));
  shim_->thread(0, RecordType::kSample, sample(kStart + 30'000, 9'500'000, 1, 1, {}, 0, 6'000'000));
  shim_->thread(0, RecordType::kThreadEnd, thread_end(kStart + 50, 12'000'000, 7'000'000));
  shim_->thread(1, RecordType::kThreadStart, thread_start(101, kStart + 10, 0, "killed"));
  wire::thread_slot(base_, 1)->left_out_ns = 2'000'000;
  const Recording recording = finish({kStart + 1000}, 20'000'000);
  ASSERT_EQ(recording.samples.size(), 2u);
  EXPECT_EQ(recording.samples[0].weight_ns, 1'000'000u);
  EXPECT_EQ(recording.samples[1].weight_ns, 2'000'000u);
  EXPECT_EQ(recording.thread_ends.at(0).cpu_ns, 4'500'000u);
  EXPECT_EQ(recording.process_ends.at(0).cpu_ns, 11'000'000u);
}

// A segment has the CPU of its samples, the next one has the rest; both have the module and stack.
TEST_F(ShimProcessTest, DividesCpuBetweenSegments) {
  const std::string second = path_ + "2";
  std::filesystem::remove(second);
  shim_->process(RecordType::kModuleLoad, module_load(kStart + 1, 0, 0x2000, 0x3000, "lib"));
  shim_->thread(0, RecordType::kThreadStart, thread_start(100, kStart + 10, 500'000, "main"));
  shim_->thread(0, RecordType::kSample, sample(kStart + 20'000, 1'500'000, 1, 0, {0x2100, 0x2200}));
  process_->drain();
  process_->end_segment(kStart + 40'000);
  writer_->rotate(second, 40'000);
  shim_->thread(0, RecordType::kSample, sample(kStart + 60'000, 4'500'000, 1, 2, {}));
  shim_->thread(0, RecordType::kThreadEnd, thread_end(kStart + 70'000, 5'000'000));
  process_->note_clock(6'000'000);
  process_->finish({kStart + 100'000});
  writer_->finish({});

  const Recording before = recording::read(path_), after = recording::read(second);
  std::filesystem::remove(second);
  ASSERT_EQ(before.thread_ends.size(), 1u);
  EXPECT_EQ(before.thread_ends[0].cpu_ns, 1'000'000u);
  EXPECT_EQ(before.thread_ends[0].time_ns, 40'000u);
  EXPECT_TRUE(before.process_ends.at(0).lives_on);
  ASSERT_EQ(after.thread_ends.size(), 1u);
  EXPECT_EQ(after.thread_ends[0].cpu_ns, 3'500'000u);
  EXPECT_EQ(*before.process_ends[0].cpu_ns + after.process_ends.at(0).cpu_ns.value(), 6'000'000u);
  ASSERT_EQ(after.samples.size(), 1u);
  EXPECT_EQ(after.samples[0].weight_ns, 3'000'000u);
  const recording::Stack leaf = after.stacks.at(after.samples[0].stack);
  EXPECT_EQ(after.frames.at(leaf.frame).address, 0x2100u);
  EXPECT_EQ(after.modules.at(after.frames.at(leaf.frame).module).path, "lib");
  EXPECT_EQ(after.threads.at(0).id, before.threads.at(0).id);
}

TEST_F(ShimProcessTest, ReadsModulesBeforeTheSamplesInThem) {
  shim_->thread(0, RecordType::kThreadStart, thread_start(100, kStart + 10, 0, "main"));
  shim_->thread(0, RecordType::kSample, sample(kStart + 30, 1, 1, 0, {0x2100, 0x7777}));
  shim_->process(RecordType::kModuleLoad,
                 module_load(kStart + 5, 0x1000, 0x2000, 0x3000, "/lib/a.so"));
  const Recording recording = finish();
  const recording::Stack leaf = recording.stacks.at(recording.samples.at(0).stack);
  const recording::Frame frame = recording.frames.at(leaf.frame);
  EXPECT_EQ(recording.modules.at(frame.module).path, "/lib/a.so");
  EXPECT_EQ(recording.modules.at(frame.module).svma_begin, 0x1000u);
  EXPECT_EQ(frame.address, 0x1100u);
  const recording::Frame root = recording.frames.at(recording.stacks.at(leaf.prefix).frame);
  EXPECT_EQ(root, (recording::Frame{recording::kNone, 0x7777}));
}

// The second sample says that it has the same stack as the first, but the meaning of the addresses has
// changed in between.
TEST_F(ShimProcessTest, LooksSharedFramesUpAgainWhenModulesChange) {
  shim_->process(RecordType::kModuleLoad, module_load(kStart + 1, 0, 0x2000, 0x3000, "old"));
  shim_->thread(0, RecordType::kThreadStart, thread_start(100, kStart + 2, 0, "main"));
  shim_->thread(0, RecordType::kSample, sample(kStart + 3, 1, 1, 0, {0x2100}));
  process_->drain();
  shim_->process(RecordType::kModuleUnload, module_unload(kStart + 4, 0, 0x2000));
  shim_->process(RecordType::kModuleLoad, module_load(kStart + 6, 0, 0x2000, 0x3000, "new"));
  shim_->thread(0, RecordType::kSample, sample(kStart + 3, 2, 1, 1, {}));
  shim_->thread(0, RecordType::kSample, sample(kStart + 7, 2, 1, 1, {}));
  shim_->thread(0, RecordType::kSample, sample(kStart + 8, 3, 1, 1, {}));
  const Recording recording = finish();
  std::string modules;
  for (const recording::Sample& sample : recording.samples) {
    const recording::Frame& frame = recording.frames.at(recording.stacks.at(sample.stack).frame);
    modules += recording.modules.at(frame.module).path + " ";
  }
  EXPECT_EQ(modules, "old old new new ");
}

TEST_F(ShimProcessTest, GivesASlotToOneThreadAfterTheOther) {
  for (int i = 0; i < 3; ++i) {
    const int32_t tid = 200 + i;
    shim_->thread(0, RecordType::kThreadStart, thread_start(tid, kStart + 1, 0, "t"));
    shim_->thread(0, RecordType::kSample, sample(kStart + 2, 1, 1, 0, {0x10}));
    if (i != 1) shim_->thread(0, RecordType::kThreadEnd, thread_end(kStart + 3, 7));
  }
  const Recording recording = finish();
  ASSERT_EQ(recording.threads.size(), 3u);
  ASSERT_EQ(recording.thread_ends.size(), 3u);
  EXPECT_EQ(recording.thread_ends[0].cpu_ns, 7u);
  EXPECT_FALSE(recording.thread_ends[1].cpu_ns) << "nobody saw the end of 201";
  EXPECT_EQ(recording.samples[2].thread, 2u);
}

TEST_F(ShimProcessTest, SharesNoStackWithTheThreadThatHadTheSlotBefore) {
  shim_->thread(0, RecordType::kThreadStart, thread_start(200, kStart + 1, 0, "t"));
  shim_->thread(0, RecordType::kSample, sample(kStart + 2, 1, 1, 0, {0x10}));
  shim_->thread(0, RecordType::kThreadStart, thread_start(201, kStart + 3, 0, "t"));
  shim_->thread(0, RecordType::kSample, sample(kStart + 4, 1, 1, 1, {}));
  const Recording recording = finish();
  EXPECT_EQ(recording.samples.size(), 1u);
  EXPECT_EQ(lost(recording, wire::Loss::kRingCorrupt), 1u);
}

TEST_F(ShimProcessTest, SharesNoStackAcrossRecordsThatWereCorrupt) {
  shim_->thread(0, RecordType::kThreadStart, thread_start(200, kStart + 1, 0, "t"));
  shim_->thread(0, RecordType::kSample, sample(kStart + 2, 1, 1, 0, {0x10}));
  process_->drain();
  wire::RingPositions& positions = wire::thread_slot(base_, 0)->ring;
  positions.head.fetch_add(64);  // a header of zeros, then nothing
  process_->drain();
  shim_->thread(0, RecordType::kSample, sample(kStart + 4, 2, 1, 1, {}));
  shim_->thread(0, RecordType::kSample, sample(kStart + 5, 3, 1, 0, {0x20}));
  const Recording recording = finish();
  EXPECT_EQ(recording.samples.size(), 2u);
  EXPECT_EQ(lost(recording, wire::Loss::kRingCorrupt), 2u);
}

TEST_F(ShimProcessTest, NamesThreadsThatStartLaterThanTheirName) {
  shim_->process(RecordType::kThreadName, thread_name(kStart + 3, 200, "an early name"));
  process_->drain();
  shim_->thread(0, RecordType::kThreadStart, thread_start(200, kStart + 2, 0, "prog"));
  const Recording recording = finish();
  ASSERT_EQ(recording.thread_names.size(), 1u);
  EXPECT_EQ(recording.thread_names[0].name, "an early name");
  EXPECT_EQ(recording.thread_names[0].thread, 0u);
}

TEST_F(ShimProcessTest, EndsLiveThreadsWithTheClocksReadOnTheWayOut) {
  shim_->thread(0, RecordType::kThreadStart, thread_start(100, kStart + 1, 10, "main"));
  shim_->thread(1, RecordType::kThreadStart, thread_start(101, kStart + 1, 0, "other"));
  shim_->process(RecordType::kThreadCpu, thread_cpu(kStart + 4, 100, 1010));
  shim_->process(RecordType::kExit, exit_record(kStart + 5, 3));
  const Recording recording = finish();
  ASSERT_EQ(recording.thread_ends.size(), 2u);
  EXPECT_EQ(recording.thread_ends[0].cpu_ns, 1000u);
  EXPECT_FALSE(recording.thread_ends[1].cpu_ns);
  ASSERT_EQ(recording.process_ends.size(), 1u);
  EXPECT_EQ(recording.process_ends[0].exit_status, 3);
}

TEST_F(ShimProcessTest, TakesTheProcessClockForTheOnlyThread) {
  shim_->thread(0, RecordType::kThreadStart, thread_start(100, kStart + 1, 10, "main"));
  const Recording recording = finish({kStart + 9, {std::nullopt, 9}}, 5010);
  EXPECT_EQ(recording.thread_ends.at(0).cpu_ns, 5000u);
  EXPECT_EQ(recording.process_ends.at(0).cpu_ns, 5010u);
  EXPECT_EQ(recording.process_ends.at(0).exit_signal, 9);
  EXPECT_FALSE(recording.process_ends.at(0).exit_status);
}

TEST_F(ShimProcessTest, CountsWhatTheRingsDropped) {
  shim_->thread(0, RecordType::kThreadStart, thread_start(100, kStart + 1, 10, "main"));
  uint64_t dropped = 0;
  for (int i = 0; i < 2000; ++i) {
    if (!shim_->thread(0, RecordType::kSample, sample(kStart + 2, 20, 1, 0, {0x10}))) ++dropped;
  }
  ASSERT_GT(dropped, 0u);
  const Recording recording = finish();
  EXPECT_EQ(lost(recording, wire::Loss::kRingFull), dropped);
  EXPECT_EQ(recording.samples.size(), 2000 - dropped);
}

TEST_F(ShimProcessTest, CountsNonsenseAndGoesOn) {
  shim_->thread(0, RecordType::kSample, sample(kStart + 2, 20, 1, 0, {0x10}));  // of no thread
  shim_->thread(0, RecordType::kThreadStart, thread_start(100, kStart + 1, 10, "main"));
  shim_->thread(0, RecordType::kThreadStart, {1, 2, 3});
  shim_->thread(0, static_cast<RecordType>(99), {1});
  shim_->process(RecordType::kModuleLoad, {1});
  shim_->thread(0, RecordType::kSample, sample(kStart + 2, 20, 1, 0, {0x10}));
  const Recording recording = finish();
  EXPECT_EQ(lost(recording, wire::Loss::kRingCorrupt), 4u);
  EXPECT_EQ(recording.samples.size(), 1u);
}

TEST_F(ShimProcessTest, SurvivesPositionsThatMakeNoSense) {
  shim_->thread(0, RecordType::kThreadStart, thread_start(100, kStart + 1, 10, "main"));
  process_->drain();
  wire::thread_slot(base_, 0)->ring.head.store(UINT64_MAX - 3);
  wire::control_block(base_)->process_ring.head.store(12345);
  wire::control_block(base_)->slots_used.store(UINT32_MAX);
  process_->drain();
  EXPECT_GE(lost(finish(), wire::Loss::kRingCorrupt), 1u);
}

TEST_F(ShimProcessTest, RecordsAllocationsAndTheirFrees) {
  shim_->thread(0, RecordType::kThreadStart, thread_start(100, kStart + 10, 0, "main"));
  shim_->thread(0, RecordType::kAllocation,
                allocation(kStart + 20, 7, 4096, 512, 0, 0, {0x30, 0x10}));
  shim_->thread(0, RecordType::kAllocation, allocation(kStart + 30, 8, 16, 256, 1, 1, {0x40}));
  shim_->thread(0, RecordType::kFree, freed(kStart + 40, 7, 1, {0x50}, 1));
  const Recording recording = finish();
  ASSERT_EQ(recording.allocations.size(), 2u);
  const recording::Allocation& first = recording.allocations[0];
  EXPECT_EQ(first.thread, 0u);
  EXPECT_EQ(first.time_ns, 20u);
  EXPECT_EQ(first.id, 7u);
  EXPECT_EQ(first.size, 4096u);
  EXPECT_EQ(first.mean, 512u);
  EXPECT_EQ(recording.allocations[1].kind, recording::AllocationKind::kMapping);
  ASSERT_EQ(recording.frees.size(), 1u);
  EXPECT_EQ(recording.frees[0].id, 7u);
  EXPECT_EQ(recording.frees[0].time_ns, 40u);
  EXPECT_EQ(recording.frees[0].stop, wire::StopReason::kNoRule);
  // All three begin at the same root.
  const auto root = [&](uint32_t stack) { return recording.stacks.at(stack).prefix; };
  EXPECT_EQ(root(first.stack), root(recording.frees[0].stack));
  EXPECT_NE(first.stack, recording.frees[0].stack);
}

// The ring of the thread that frees is read first. Its free waits for one round, and no longer.
TEST_F(ShimProcessTest, FreesMayComeBeforeTheirAllocations) {
  for (const uint32_t slot : {0u, 1u}) {
    shim_->thread(slot, RecordType::kThreadStart,
                  thread_start(100 + static_cast<int32_t>(slot), kStart + 10, 0, "main"));
  }
  shim_->thread(0, RecordType::kFree, freed(kStart + 40, 7, 0, {0x50}));
  shim_->thread(1, RecordType::kAllocation, allocation(kStart + 20, 7, 16, 8, 0, 0, {0x30}));
  shim_->thread(0, RecordType::kFree, freed(kStart + 41, 8, 0, {0x50}));
  shim_->thread(0, RecordType::kFree, freed(kStart + 42, 9, 0, {0x50}));
  process_->read_rings();
  shim_->thread(1, RecordType::kAllocation, allocation(kStart + 30, 8, 16, 8, 0, 0, {0x30}));
  process_->read_rings();
  shim_->thread(1, RecordType::kAllocation, allocation(kStart + 31, 9, 16, 8, 0, 0, {0x30}));
  // A second one, and one of what was never made.
  shim_->thread(0, RecordType::kFree, freed(kStart + 43, 7, 0, {0x50}));
  shim_->thread(0, RecordType::kFree, freed(kStart + 44, 77, 0, {0x50}));
  const Recording recording = finish();
  EXPECT_EQ(recording.allocations.size(), 3u);
  std::vector<uint64_t> ids;
  for (const recording::Free& row : recording.frees) ids.push_back(row.id);
  EXPECT_EQ(ids, (std::vector<uint64_t>{7, 8}));
}

TEST_F(ShimProcessTest, CountsAllocationsThatMakeNoSense) {
  shim_->thread(0, RecordType::kAllocation, allocation(kStart + 1, 5, 1, 1, 0, 0, {0x10}));
  shim_->thread(0, RecordType::kThreadStart, thread_start(100, kStart + 10, 0, "main"));
  shim_->thread(0, RecordType::kAllocation, allocation(kStart + 20, 7, 1, 0, 0, 0, {0x10}));
  shim_->thread(0, RecordType::kAllocation, allocation(kStart + 20, 7, 1, 1, 0, 0, {0x10}));
  shim_->thread(0, RecordType::kAllocation, allocation(kStart + 21, 7, 1, 1, 0, 0, {0x10}));
  const Recording recording = finish();
  EXPECT_EQ(recording.allocations.size(), 1u);
  EXPECT_EQ(lost(recording, wire::Loss::kRingCorrupt), 3u);
}

// Stacks of the file before are not those of this one.
TEST_F(ShimProcessTest, AFreeThatWaitsWhileAFileEndsHasNoStack) {
  const std::string next = path_ + ".2";
  std::filesystem::remove(next);
  shim_->thread(0, RecordType::kThreadStart, thread_start(100, kStart + 10, 0, "main"));
  shim_->thread(0, RecordType::kFree, freed(kStart + 40, 7, 0, {0x50}));
  process_->read_rings();
  process_->end_segment(kStart + 50);
  writer_->rotate(next, 50);
  shim_->thread(0, RecordType::kAllocation, allocation(kStart + 20, 7, 16, 8, 0, 0, {0x30}));
  process_->finish({kStart + 1000});
  writer_->finish({});
  const Recording recording = recording::read(next);
  std::filesystem::remove(next);
  ASSERT_EQ(recording.frees.size(), 1u);
  EXPECT_EQ(recording.frees[0].stack, recording::kNone);
  EXPECT_NE(recording.allocations.at(0).stack, recording::kNone);
}

TEST(ShimProcess, SaysThatItsHeapIsWatched) {
  const std::string path = testing::TempDir() + "watched-" + std::to_string(getpid()) + ".sampan";
  std::filesystem::remove(path);
  recording::Writer writer(path, recording::Session{});
  SharedMemory memory(wire::kFewestSlots);
  wire::control_block(memory.base())->heap_mean.store(4096);
  ShimProcess process(writer, {kPid, 99, "/bin/prog", {kStart}, kStart + 5, 0}, std::move(memory));
  process.finish({kStart + 1000});
  writer.finish({});
  const Recording recording = recording::read(path);
  std::filesystem::remove(path);
  ASSERT_EQ(recording.watch_changes.size(), 1u);
  EXPECT_EQ(recording.watch_changes[0].what, recording::Watched::kHeap);
  EXPECT_EQ(recording.watch_changes[0].setting, 4096u);
  EXPECT_EQ(recording.watch_changes[0].time_ns, 5u);
}

}  // namespace
}  // namespace sampan::sampler

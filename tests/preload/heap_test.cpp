// The wrappers of allocators, by the records that they write. With a mean of one byte every allocation of
// some bytes is drawn: one of S bytes is left out with probability exp(-S).
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "fake_collector.h"

namespace sampan::preload::test {
namespace {

using wire::AllocationKind;
using wire::Loss;

RunResult run(std::vector<std::string> words, uint64_t mean, const char* library = SAMPAN_WRAPPERS,
              const char* program = "target_allocations") {
  words.insert(words.begin(), std::string(SAMPAN_TARGETS) + "/" + program);
  return run_with_shim(words,
                       {.rate_hz = 100, .library = library, .heap_mean = mean, .environment = {}});
}

// The allocations of a process, and how often each was freed.
class Heap {
 public:
  explicit Heap(const ProcessRecords& process) : process_(process) {
    for (const FreeRecord& freed : process.frees) ++frees_[freed.id];
    for (const uint64_t id : process.late_frees) ++frees_[id];
    EXPECT_EQ(process.corrupt, 0u);
    std::set<uint64_t> ids;
    for (const AllocationRecord& allocation : process.allocations) {
      EXPECT_TRUE(ids.insert(allocation.id).second);
    }
    for (const auto& [id, count] : frees_) {
      EXPECT_EQ(count, 1u);
      EXPECT_TRUE(ids.contains(id));
    }
  }

  struct Count {
    size_t made = 0, freed = 0;
    bool operator==(const Count&) const = default;
  };
  Count of(uint64_t size, AllocationKind kind = AllocationKind::kHeap) const {
    Count count;
    for (const AllocationRecord& allocation : process_.allocations) {
      if (allocation.size != size || allocation.kind != kind) continue;
      ++count.made;
      count.freed += frees_.contains(allocation.id);
    }
    return count;
  }

 private:
  const ProcessRecords& process_;
  std::map<uint64_t, unsigned> frees_;
};

std::ostream& operator<<(std::ostream& out, const Heap::Count& count) {
  return out << count.made << " made, " << count.freed << " freed";
}

using Count = Heap::Count;

std::string module_of(const ProcessRecords& process, uint64_t avma) {
  for (const ModuleRecord& module : process.modules) {
    if (avma >= module.start && avma < module.end) {
      return module.path.substr(module.path.rfind('/') + 1);
    }
  }
  return "";
}

void expect_forms(const RunResult& result, bool has_pvalloc) {
  ASSERT_EQ(result.status, 0);
  ASSERT_EQ(result.processes.size(), 1u);
  const ProcessRecords& process = result.processes[0];
  const Heap heap(process);
  for (const uint64_t size :
       {1001, 1022, 1003, 100'003, 1004, 1088, 1006, 1007, 1008, 1010, 1011}) {
    EXPECT_EQ(heap.of(size), (Count{1, 1})) << size;
  }
  EXPECT_EQ(heap.of(1009).made, has_pvalloc ? 1u : 0u);
  EXPECT_EQ(heap.of(13), (Count{1, 1})) << "strdup";
  EXPECT_EQ(heap.of(1012), (Count{1, 0}));
  for (const AllocationRecord& allocation : process.allocations) {
    if (allocation.size < 1000 || allocation.size > 1100) continue;
    ASSERT_FALSE(allocation.frames.empty());
    EXPECT_EQ(module_of(process, allocation.frames[0]), "target_allocations") << allocation.size;
    EXPECT_EQ(allocation.stop, wire::StopReason::kRoot);
    EXPECT_EQ(allocation.mean, 1u);
  }
  for (const FreeRecord& freed : process.frees) {
    ASSERT_FALSE(freed.frames.empty());
    EXPECT_NE(module_of(process, freed.frames[0]), "libsampan_wrappers.so");
  }
  for (const Loss loss : {Loss::kAllocationLost, Loss::kFreeLost})
    EXPECT_EQ(process.loss(loss), 0u);
}

void expect_operators(const RunResult& result) {
  ASSERT_EQ(WEXITSTATUS(result.status), 0) << "an allocation that has to fail";
  const ProcessRecords& process = result.processes.at(0);
  const Heap heap(process);
  for (const uint64_t size : {6'001'000, 6'002'000, 6'003'000, 6'004'000, 6'005'000, 6'006'000,
                              6'400'000, 6'464'000, 6'528'000, 6'592'000, 6'656'000}) {
    EXPECT_EQ(heap.of(size), (Count{1, 1})) << size;
  }
  EXPECT_EQ(heap.of(6'007'000), (Count{1, 0}));
  EXPECT_EQ(process.loss(Loss::kAllocatorUnseen), 0u);
}

TEST(HeapWrappers, RecordEachFunctionOnce) {
  const RunResult result = run({"forms"}, 1);
  expect_forms(result, true);
  EXPECT_EQ(result.processes.at(0).loss(Loss::kAllocatorUnseen), 0u);
}

TEST(HeapWrappers, RecordOperatorsOnce) {
  expect_operators(run({"operators"}, 64 << 10));
}

// As an extension of Python's does: the program has no C++ library when it begins.
TEST(HeapWrappers, RecordOperatorsOfALibraryThatComesLater) {
  const std::string program = "import ctypes, sys; sys.exit(ctypes.CDLL('" +
                              (std::string(SAMPAN_TARGETS) + "/target_operators.so") +
                              "').use_operators())";
  expect_operators(
      run_with_shim({"/usr/bin/python3", "-c", program},
                    {.library = SAMPAN_WRAPPERS, .heap_mean = 64 << 10, .environment = {}}));
}

TEST(HeapWrappers, RecordNothingUnlessAsked) {
  const RunResult result = run({"forms"}, 0);
  ASSERT_EQ(result.status, 0);
  EXPECT_TRUE(result.processes.at(0).allocations.empty());
  EXPECT_TRUE(result.processes.at(0).frees.empty());
}

TEST(HeapWrappers, StandBeforeWhateverAllocatorTheProgramBrings) {
  size_t tried = 0;
  for (const char* name : {"libjemalloc.so.2", "libmimalloc.so.2.0", "libtcmalloc_minimal.so.4"}) {
    const std::string allocator = std::string("/usr/lib/x86_64-linux-gnu/") + name;
    if (!std::filesystem::exists(allocator)) continue;
    ++tried;
    SCOPED_TRACE(name);
    const std::string libraries = std::string(SAMPAN_WRAPPERS) + " " + allocator;
    const bool has_pvalloc = std::string(name) != "libjemalloc.so.2";
    expect_forms(run({"forms", has_pvalloc ? "0" : "1"}, 1, libraries.c_str()), has_pvalloc);
    expect_operators(run({"operators"}, 64 << 10, libraries.c_str()));
  }
  if (tried == 0) GTEST_SKIP() << "no other allocator is installed";
}

TEST(HeapWrappers, HonourAnAllocatorOfTheProgramsOwn) {
  const RunResult result = run({}, 1, SAMPAN_WRAPPERS, "target_own_malloc");
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.output, "its own\n");
  EXPECT_EQ(result.processes.at(0).loss(Loss::kAllocatorUnseen), 1u);
  EXPECT_TRUE(result.processes.at(0).allocations.empty());
}

TEST(HeapWrappers, RecordMappings) {
  const RunResult result = run({"mappings"}, 1);
  ASSERT_EQ(result.status, 0);
  const Heap heap(result.processes.at(0));
  const auto mapped = [&](uint64_t pages) {
    return heap.of(pages * 4096, AllocationKind::kMapping);
  };
  EXPECT_EQ(mapped(101), (Count{1, 1}));
  EXPECT_EQ(mapped(102), (Count{1, 1})) << "in two parts";
  EXPECT_EQ(mapped(103), (Count{1, 1})) << "moved";
  EXPECT_EQ(mapped(203), (Count{2, 2})) << "by mremap, and over it";
  EXPECT_EQ(mapped(104), (Count{0, 0})) << "reserved";
  EXPECT_EQ(mapped(105), (Count{1, 0}));
}

TEST(HeapWrappers, RecordWhatIsBeforeAndAfterMain) {
  const RunResult result = run({"early"}, 1);
  ASSERT_EQ(result.status, 0);
  EXPECT_EQ(Heap(result.processes.at(0)).of(2001), (Count{1, 1}));
}

TEST(HeapWrappers, RecordWhatEndingThreadsFree) {
  const RunResult result = run({"thread_ends"}, 1);
  ASSERT_EQ(result.status, 0);
  const Heap heap(result.processes.at(0));
  for (const uint64_t size : {3001, 3002, 3003}) EXPECT_EQ(heap.of(size), (Count{20, 20})) << size;
}

TEST(HeapWrappers, AForkedChildRecordsItsOwnBlocksOnly) {
  const RunResult result = run({"fork"}, 1);
  ASSERT_EQ(result.status, 0);
  ASSERT_EQ(result.processes.size(), 3u);
  for (const ProcessRecords& process : result.processes) {
    const Heap heap(process);
    EXPECT_EQ(heap.of(4001), process.forked ? (Count{0, 0}) : (Count{16, 16}));
    EXPECT_EQ(heap.of(4002), process.forked ? (Count{16, 16}) : (Count{0, 0}));
  }
}

// Which of its allocations a child draws is not decided by its parent.
TEST(HeapWrappers, ForkedChildrenDrawAnew) {
  // 16 blocks of 4002 bytes: with this mean, half of the children draw none of the first 8.
  std::set<size_t> counts;
  for (int i = 0; i < 8; ++i) {
    const RunResult result = run({"fork"}, 16'000);
    for (const ProcessRecords& process : result.processes) {
      if (process.forked) counts.insert(Heap(process).of(4002).made);
    }
  }
  EXPECT_GE(counts.size(), 2u);
}

// Threads free what others have allocated. A loss is counted, and makes the difference.
TEST(HeapWrappers, EveryBlockIsFreedOnceWhoeverDoesIt) {
  const RunResult result = run({"pairs", "400000"}, 64 << 10);
  ASSERT_EQ(result.status, 0);
  const ProcessRecords& process = result.processes.at(0);
  const Heap heap(process);
  size_t freed = 0, by_others = 0;
  double blocks = 0, variance = 0;
  std::map<uint64_t, int32_t> makers;
  for (const AllocationRecord& allocation : process.allocations) {
    // Those of the C library for threads live on.
    if (module_of(process, allocation.frames.at(0)) != "target_allocations") continue;
    makers[allocation.id] = allocation.tid;
    const double weight = -1 / std::expm1(-static_cast<double>(allocation.size) /
                                          static_cast<double>(allocation.mean));
    blocks += weight;
    variance += weight * (weight - 1);
  }
  for (const FreeRecord& record : process.frees) {
    const bool in_program = makers.contains(record.id);
    freed += in_program;
    by_others += in_program && makers.at(record.id) != record.tid;
  }
  for (const uint64_t id : process.late_frees) freed += makers.contains(id);
  EXPECT_EQ(makers.size(), freed + process.loss(Loss::kFreeLost));
  EXPECT_GT(by_others, freed / 10);
  // Within 5 standard deviations. A block that was drawn with probability p stands for 1 / p blocks, and adds
  // (1 - p) / p^2 to the variance. A loss would be missing.
  EXPECT_EQ(process.loss(Loss::kAllocationLost), 0u);
  EXPECT_NEAR(blocks, 8 * 400'000, 5 * std::sqrt(variance));
}

TEST(HeapWrappers, RecordWhatSignalHandlersAllocate) {
  const RunResult result = run({"signals", "500"}, 1);
  ASSERT_EQ(result.status, 0);
  const ProcessRecords& process = result.processes.at(0);
  const Heap heap(process);
  const auto handled = static_cast<size_t>(std::stoul(result.output.substr(sizeof "handled")));
  const Count count = heap.of(5001);
  EXPECT_GT(handled, 0u);
  EXPECT_LE(count.made, handled);
  EXPECT_GE(count.made + process.loss(Loss::kAllocationLost), handled);
  EXPECT_GE(count.freed + process.loss(Loss::kFreeLost), count.made);
}

// A run with many draws: on a busy machine they thin out, and it needs longer pauses.
RunResult run_known(const std::string& rounds, uint64_t mean) {
  constexpr size_t kMany = 8'000;
  RunResult result;
  for (const char* pause_ms : {"5", "20", "80"}) {
    result = run({"known", rounds, pause_ms}, mean);
    if (result.processes.at(0).allocations.size() > kMany) break;
  }
  return result;
}

// What the records stand for, beside what the program says that it has allocated.
TEST(HeapWrappers, StandForAllThatWasAllocated) {
  const RunResult result = run_known("120", 64 << 10);
  ASSERT_EQ(result.status, 0);
  const ProcessRecords& process = result.processes.at(0);
  ASSERT_EQ(process.loss(Loss::kAllocationLost), 0u) << "the collector was late";
  uint64_t bytes_of_all = 0;
  double estimate = 0, variance = 0;
  for (size_t at = 0, next = 0; at < result.output.size(); at = next + 1) {
    next = result.output.find('\n', at);
    unsigned long bytes = 0;
    ASSERT_EQ(sscanf(result.output.c_str() + at, "allocate_%*s %lu", &bytes), 1);
    bytes_of_all += bytes;
  }
  for (const AllocationRecord& allocation : process.allocations) {
    if (module_of(process, allocation.frames.at(0)) != "target_allocations") continue;
    const auto size = static_cast<double>(allocation.size);
    const double drawn = -std::expm1(-size / static_cast<double>(allocation.mean));
    estimate += size / drawn;
    variance += size * size * (1 - drawn) / (drawn * drawn);
  }
  EXPECT_GT(process.allocations.size(), 1000u);
  EXPECT_NEAR(estimate, static_cast<double>(bytes_of_all), 5 * std::sqrt(variance));
  EXPECT_LT(std::sqrt(variance), 0.03 * static_cast<double>(bytes_of_all));
}

}  // namespace
}  // namespace sampan::preload::test

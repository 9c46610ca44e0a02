#include "preload/wrappers/sampled_blocks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "preload/wrappers/sampled_mappings.h"

namespace sampan::preload {
namespace {

const void* block_at(uint64_t address) {
  return reinterpret_cast<const void*>(address);
}

bool add(SampledBlocks& blocks, uint64_t address, uint64_t id) {
  const SampledBlocks::Place place = blocks.claim(block_at(address), true);
  if (place.address == nullptr) return false;
  blocks.publish(place, block_at(address), id);
  return true;
}

class SampledBlocksTest : public testing::Test {
 protected:
  SampledBlocksTest() { EXPECT_TRUE(blocks_->start(UINT64_MAX)); }
  const std::unique_ptr<SampledBlocks> blocks_ = std::make_unique<SampledBlocks>();
};

TEST_F(SampledBlocksTest, FindsWhatWasAddedOnce) {
  EXPECT_FALSE(blocks_->may_have(block_at(0x1000)));
  ASSERT_TRUE(add(*blocks_, 0x1000, 7));
  EXPECT_TRUE(blocks_->may_have(block_at(0x1000)));
  EXPECT_EQ(blocks_->remove(block_at(0x1010)), 0u);
  EXPECT_EQ(blocks_->remove(block_at(0x1000)), 7u);
  EXPECT_EQ(blocks_->remove(block_at(0x1000)), 0u);
  EXPECT_FALSE(blocks_->may_have(block_at(0x1000)));
}

TEST_F(SampledBlocksTest, NothingIsAtTheAddressesThatMarkPlaces) {
  ASSERT_TRUE(add(*blocks_, 0x1000, 7));
  EXPECT_NE(blocks_->claim(block_at(0x2000), true).address, nullptr);
  EXPECT_EQ(blocks_->remove(nullptr), 0u);
  EXPECT_EQ(blocks_->remove(block_at(1)), 0u);
}

TEST_F(SampledBlocksTest, AClaimedBlockIsNotThereYet) {
  const SampledBlocks::Place place = blocks_->claim(block_at(0x1000), true);
  EXPECT_EQ(blocks_->remove(block_at(0x1000)), 0u);
  blocks_->give_back(place);
  EXPECT_EQ(blocks_->claim(block_at(0x1000), true).address, place.address);
}

// Blocks of one byte of the filter: it forgets none, and counts no further than it can.
TEST_F(SampledBlocksTest, BlocksThatTheFilterCannotTellApart) {
  constexpr uint64_t kAlike = uint64_t{16} << 18;
  for (const uint64_t count : {200, 600}) {
    for (uint64_t i = 1; i <= count; ++i) ASSERT_TRUE(add(*blocks_, i * kAlike, i));
    for (uint64_t i = 1; i <= count; ++i) {
      EXPECT_TRUE(blocks_->may_have(block_at(i * kAlike)));
      EXPECT_EQ(blocks_->remove(block_at(i * kAlike)), i);
    }
    EXPECT_EQ(blocks_->may_have(block_at(kAlike)), count > 255);
  }
}

TEST_F(SampledBlocksTest, HasRoomForMany) {
  constexpr uint64_t kMany = 500'000;
  for (uint64_t i = 1; i <= kMany; ++i) ASSERT_TRUE(add(*blocks_, i * 0x4a0, i)) << i;
  for (uint64_t i = 1; i <= kMany; ++i) ASSERT_EQ(blocks_->remove(block_at(i * 0x4a0)), i);
}

TEST(SampledBlocks, SaysWhenItIsFull) {
  const auto blocks = std::make_unique<SampledBlocks>();
  EXPECT_FALSE(add(*blocks, 0x1000, 1)) << "not started";
  EXPECT_FALSE(blocks->start(1 << 10));
  ASSERT_TRUE(blocks->start(size_t{1} << 20));  // only the first level
  std::vector<uint64_t> kept;
  for (uint64_t i = 1; i <= 30'000; ++i) {
    if (add(*blocks, i * 0x4a0, i)) kept.push_back(i);
  }
  EXPECT_GT(kept.size(), 12'000u);
  EXPECT_LE(kept.size(), 16'384u);
  for (const uint64_t i : kept) ASSERT_EQ(blocks->remove(block_at(i * 0x4a0)), i);
  EXPECT_TRUE(add(*blocks, 0x1000, 1));
}

// Every block that was added is removed by exactly one of the threads that try.
TEST_F(SampledBlocksTest, ManyThreads) {
  constexpr uint64_t kThreads = 4, kRounds = 40, kBlocks = 2000;
  std::atomic<uint64_t> removed = 0, sum = 0, lost = 0;
  std::vector<std::thread> threads;
  for (uint64_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (uint64_t round = 0; round < kRounds; ++round) {
        for (uint64_t i = 1; i <= kBlocks; ++i) {
          const uint64_t number = (round * kThreads + thread) * kBlocks + i;
          lost += !add(*blocks_, number * 16, number);
        }
        // Its own, and those of the next thread, which may not be there yet.
        for (const uint64_t owner : {thread, (thread + 1) % kThreads}) {
          for (uint64_t i = 1; i <= kBlocks; ++i) {
            const uint64_t number = (round * kThreads + owner) * kBlocks + i;
            const uint64_t id = blocks_->remove(block_at(number * 16));
            if (id == 0) continue;
            EXPECT_EQ(id, number);
            ++removed;
            sum += id;
          }
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  constexpr uint64_t kAll = kThreads * kRounds * kBlocks;
  EXPECT_EQ(lost, 0u);
  EXPECT_EQ(removed, kAll);
  EXPECT_EQ(sum, kAll * (kAll + 1) / 2);
  for (uint64_t i = 1; i <= kAll; ++i) ASSERT_FALSE(blocks_->may_have(block_at(i * 16)));
}

class SampledMappingsTest : public testing::Test {
 protected:
  std::vector<uint64_t> gone(uint64_t begin, uint64_t end) {
    std::vector<uint64_t> ids;
    for (uint64_t id = 0; mappings_->remove(begin, end, &id) && id != 0;) ids.push_back(id);
    std::sort(ids.begin(), ids.end());
    return ids;
  }
  const std::unique_ptr<SampledMappings> mappings_ = std::make_unique<SampledMappings>();
};

using Ids = std::vector<uint64_t>;

TEST_F(SampledMappingsTest, AreGoneWhenNothingIsLeft) {
  ASSERT_TRUE(mappings_->add(0x1000, 0x5000, 1));
  EXPECT_EQ(gone(0x5000, 0x9000), Ids{});
  EXPECT_EQ(gone(0x0000, 0x2000), Ids{});  // the begin
  EXPECT_EQ(gone(0x4000, 0x6000), Ids{});  // the end
  EXPECT_EQ(gone(0x2000, 0x3000), Ids{});
  EXPECT_FALSE(mappings_->empty());
  EXPECT_EQ(gone(0x3000, 0x4000), Ids{1});
  EXPECT_TRUE(mappings_->empty());
}

TEST_F(SampledMappingsTest, ManyGoAtOnce) {
  for (uint64_t i = 1; i <= 5; ++i) ASSERT_TRUE(mappings_->add(i * 0x2000, i * 0x2000 + 0x1000, i));
  EXPECT_EQ(gone(0x4000, 0x9000), (Ids{2, 3, 4}));
  EXPECT_EQ(gone(0, UINT64_MAX), (Ids{1, 5}));
}

TEST_F(SampledMappingsTest, OneThatLosesItsMiddleIsWhole) {
  ASSERT_TRUE(mappings_->add(0x1000, 0x5000, 1));
  EXPECT_EQ(gone(0x2000, 0x3000), Ids{});
  EXPECT_EQ(gone(0x1000, 0x2000), Ids{});
  EXPECT_EQ(gone(0x3000, 0x5000), Ids{});
  EXPECT_EQ(gone(0x2000, 0x5000), Ids{1});
}

TEST_F(SampledMappingsTest, HaveNoRoomForAny) {
  uint64_t added = 0;
  while (mappings_->add(added * 0x1000, (added + 1) * 0x1000, added + 1)) ++added;
  EXPECT_EQ(added, 4096u);
  EXPECT_EQ(gone(0, UINT64_MAX).size(), added);
}

}  // namespace
}  // namespace sampan::preload

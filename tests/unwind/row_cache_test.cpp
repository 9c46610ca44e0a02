#include "unwind/row_cache.h"

#include <gtest/gtest.h>

namespace sampan::unwind {
namespace {

constexpr uint64_t kSomePc = 0x7f1234567890;
const PackedRow kRow(PackedRow::kFromSp, 4, 2, 3);

class RowCacheTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(cache.start()); }
  uint64_t found(uint64_t pc) { return cache.find(pc, cache.generation()).bits(); }
  void insert(uint64_t pc, PackedRow row) { cache.insert(pc, cache.generation(), row); }

  RowCache cache;
};

TEST(RowCacheSizeTest, IsAQuarterOfAMegabyte) {
  EXPECT_EQ(sizeof(RowCache::Entry) * RowCache::kEntries, 256u * 1024);
}

TEST_F(RowCacheTest, FindsWhatWasInserted) {
  EXPECT_EQ(found(kSomePc), 0u);
  insert(kSomePc, kRow);
  EXPECT_EQ(found(kSomePc), kRow.bits());
  EXPECT_EQ(found(kSomePc + 1), 0u);
  EXPECT_EQ(found(0), 0u);
}

TEST_F(RowCacheTest, AnotherPcInTheSameEntryReplacesTheFirst) {
  const uint64_t other = kSomePc ^ (uint64_t{1} << 14) ^ 1;  // the hash of both is the same
  insert(kSomePc, kRow);
  insert(other, PackedRow(PackedRow::kFromFp, 2, 2, 0));
  EXPECT_EQ(found(kSomePc), 0u);
  EXPECT_NE(found(other), 0u);
}

TEST_F(RowCacheTest, ForgettingMakesEverythingMiss) {
  insert(kSomePc, kRow);
  const uint64_t before = cache.generation();
  cache.forget();
  EXPECT_EQ(found(kSomePc), 0u);
  cache.insert(kSomePc, before, kRow);  // by a walk that began before
  EXPECT_EQ(found(kSomePc), 0u);
}

// The key has room for 2^15 generations. A row must not be found when its number is used again.
TEST_F(RowCacheTest, AReusedGenerationFindsNothing) {
  insert(kSomePc, kRow);
  for (int i = 0; i < 1 << 15; ++i) {
    cache.forget();
    ASSERT_EQ(found(kSomePc), 0u) << i;
  }
}

}  // namespace
}  // namespace sampan::unwind

#include "unwind/recent_table.h"

#include <gtest/gtest.h>

#include <thread>

namespace sampan::unwind {
namespace {

struct Place {
  uint64_t start, end;
  uint32_t kind;
  friend bool operator==(const Place&, const Place&) = default;
};
using Table = RecentTable<Place, 4, 12>;

TEST(RecentTableTest, FindsAValueOnlyByItsKey) {
  Table table;
  Place found;
  EXPECT_FALSE(table.find(0, 0, found));
  table.insert(0x5123, 7, {0x5000, 0x6000, 3});
  ASSERT_TRUE(table.find(0x5fff, 7, found));
  EXPECT_EQ(found, (Place{0x5000, 0x6000, 3}));
  for (uint64_t key = 0; key < 64; ++key) {
    EXPECT_EQ(table.find(key << 12, 7, found), key == 5) << key;
  }
}

TEST(RecentTableTest, AnotherGenerationFindsNothing) {
  Table table;
  Place found;
  table.insert(0x5000, 7, {1, 2, 3});
  EXPECT_FALSE(table.find(0x5000, 8, found));
  EXPECT_FALSE(table.find(0x5000, 6, found));
  table.insert(0x5000, 8, {4, 5, 6});
  ASSERT_TRUE(table.find(0x5000, 8, found));
  EXPECT_EQ(found, (Place{4, 5, 6}));
}

// Two threads write different values for one key. What is found is always one of the two, whole.
TEST(RecentTableTest, NeverMixesValues) {
  Table table;
  std::atomic<bool> stop = false;
  const auto write = [&](uint64_t number) {
    while (!stop) table.insert(0, 0, {number, number << 20, static_cast<uint32_t>(number)});
  };
  std::thread one(write, 1), other(write, 2);
  uint64_t found_count = 0;
  Place found;
  while (found_count < 200'000) {
    if (!table.find(0, 0, found)) continue;
    ++found_count;
    ASSERT_TRUE(found == (Place{1, 1 << 20, 1}) || found == (Place{2, 2 << 20, 2}));
  }
  stop = true;
  one.join();
  other.join();
}

}  // namespace
}  // namespace sampan::unwind

#include "base/interner.h"

#include <gtest/gtest.h>

#include <deque>

namespace sampan {
namespace {

TEST(Interner, GivesEqualKeysOneHandle) {
  Interner<std::pair<uint32_t, std::string>> table;
  for (int round = 0; round < 2; ++round) {
    for (uint32_t i = 0; i < 10'000; ++i) {
      const auto [handle, is_new] = table.intern(std::pair(i, std::to_string(i)));
      EXPECT_EQ(handle, i);
      EXPECT_EQ(is_new, round == 0);
    }
  }
  EXPECT_EQ(table[77].second, "77");
  EXPECT_EQ(table.size(), 10'000u);
}

TEST(Interner, BeginsAnewAfterItsKeysAreTaken) {
  Interner<uint64_t> table;
  table.intern(uint64_t{5});
  EXPECT_EQ(table.take(), std::vector<uint64_t>{5});
  EXPECT_TRUE(table.intern(uint64_t{5}).is_new);
}

TEST(TextTable, BeginsWithTheEmptyText) {
  TextTable<std::deque<std::string>> table;
  EXPECT_EQ(table.handle(""), 0u);
  const std::string& first = table[table.handle("first")];
  for (uint32_t i = 2; i < 10'000; ++i) EXPECT_EQ(table.handle(std::to_string(i)), i);
  EXPECT_EQ(table.handle("9999"), 9999u);
  EXPECT_EQ(first, "first") << "a deque's texts stay where they are";
}

TEST(Renumbering, CountsInTheOrderOfUse) {
  Renumbering rows(10);
  EXPECT_EQ(rows.number(7).handle, 0u);
  EXPECT_EQ(rows.number(2).handle, 1u);
  EXPECT_FALSE(rows.number(7).is_new);
  EXPECT_EQ(rows.used(), (std::vector<uint32_t>{7, 2}));
}

}  // namespace
}  // namespace sampan

#include "recording/intern_table.h"

#include <gtest/gtest.h>

namespace sampan::recording {
namespace {

struct Key {
  uint32_t value;
  bool operator==(const Key&) const = default;
  uint64_t hash() const { return mix_bits(value); }
};

TEST(InternTable, KnowsWhatItHasSeen) {
  InternTable<Key> table(1 << 20);
  bool is_new;
  for (uint32_t i = 0; i < 10'000; ++i) {
    EXPECT_EQ(table.intern({i}, i, &is_new), i);
    EXPECT_TRUE(is_new);
  }
  for (uint32_t i = 0; i < 10'000; ++i) {
    EXPECT_EQ(table.intern({i}, 10'000 + i, &is_new), i);
    EXPECT_FALSE(is_new);
  }
}

TEST(InternTable, StaysWithinItsBoundAndKeepsWhatIsUsed) {
  InternTable<Key> table(1 << 12);
  bool is_new;
  table.intern({0}, 0, &is_new);
  for (uint32_t i = 1; i < 1'000'000; ++i) {
    table.intern({i}, i, &is_new);
    if (i % 100 == 0) {  // as the frames near main are: in every other sample
      EXPECT_EQ(table.intern({0}, i, &is_new), 0u) << i;
    }
  }
  EXPECT_EQ(table.bytes(), (1 << 12) * 2 * sizeof(uint32_t));
}

}  // namespace
}  // namespace sampan::recording

#include "recording/bounded_interner.h"

#include <gtest/gtest.h>

namespace sampan::recording {
namespace {

struct Key {
  uint32_t value;
  bool operator==(const Key&) const = default;
  uint64_t hash() const { return mix_bits(value); }
};

TEST(BoundedInterner, KnowsWhatItHasSeen) {
  BoundedInterner<Key> table(1 << 20);
  for (uint32_t i = 0; i < 10'000; ++i) {
    const auto [index, is_new] = table.intern({i}, i);
    EXPECT_EQ(index, i);
    EXPECT_TRUE(is_new);
  }
  for (uint32_t i = 0; i < 10'000; ++i) {
    const auto [index, is_new] = table.intern({i}, 10'000 + i);
    EXPECT_EQ(index, i);
    EXPECT_FALSE(is_new);
  }
}

TEST(BoundedInterner, StaysWithinItsBoundAndKeepsWhatIsUsed) {
  BoundedInterner<Key> table(1 << 12);
  table.intern({0}, 0);
  for (uint32_t i = 1; i < 1'000'000; ++i) {
    table.intern({i}, i);
    if (i % 100 == 0) {  // as the frames near main are: in every other sample
      EXPECT_EQ(table.intern({0}, i).handle, 0u) << i;
    }
  }
  EXPECT_EQ(table.bytes(), (1 << 12) * 2 * sizeof(uint32_t));
}

}  // namespace
}  // namespace sampan::recording

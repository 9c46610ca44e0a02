// For which request a thread works: the library's record and what the program has set.
#include "wire/shown_context.h"

#include <gtest/gtest.h>

namespace sampan::wire {
namespace {

constexpr TraceContext kOwn = {{1}, {2}, {3}};

OtelRecord record_of(const TraceContext& context, uint8_t valid = OtelRecord::kValid) {
  const TraceContext::Words words = context.words();
  return {{words[0], words[1], words[2]}, valid};
}

TEST(TraceContext, TheLibrarysRecordCounts) {
  EXPECT_EQ(context_of(record_of({{4}, {5}, {}}), kOwn), (TraceContext{{4}, {5}, {}}));
  EXPECT_EQ(context_of(record_of({{4}, {5}, {}}), {}), (TraceContext{{4}, {5}, {}}));
  // A span of the same trace has the parent that was set.
  EXPECT_EQ(context_of(record_of({{1}, {6}, {}}), kOwn), (TraceContext{{1}, {6}, {3}}));
}

TEST(TraceContext, WhatIsNoRecordLeavesWhatTheProgramHasSet) {
  for (const unsigned valid : {0u, 2u, 255u}) {
    EXPECT_EQ(context_of(record_of({{4}, {5}, {}}, static_cast<uint8_t>(valid)), kOwn), kOwn)
        << valid;
  }
  EXPECT_EQ(context_of(record_of({{}, {5}, {}}), kOwn), kOwn);
}

TEST(TraceContext, EachByteMatters) {
  for (size_t i = 0; i < sizeof kOwn; ++i) {
    auto bytes = std::bit_cast<std::array<uint8_t, sizeof kOwn>>(kOwn);
    bytes[i] ^= 0x80;
    const auto other = std::bit_cast<TraceContext>(bytes);
    EXPECT_FALSE(other == kOwn) << i;
    EXPECT_NE(other.hash(), kOwn.hash()) << i;
    EXPECT_EQ(other.is_of_same_trace(kOwn), i >= sizeof kOwn.trace_id) << i;
  }
  EXPECT_FALSE(TraceContext{}.is_set());
  EXPECT_TRUE((TraceContext{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}, {}, {}}.is_set()));
}

TEST(ShownContext, IsReadWhole) {
  ShownContext shown{};
  TraceContext seen = kOwn;
  ASSERT_TRUE(shown.read(seen));
  EXPECT_FALSE(seen.is_set());
  shown.show(kOwn);
  ASSERT_TRUE(shown.read(seen));
  EXPECT_EQ(seen, kOwn);
}

}  // namespace
}  // namespace sampan::wire

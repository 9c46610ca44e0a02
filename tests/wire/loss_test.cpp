#include <gtest/gtest.h>
#include <sys/mman.h>

#include <set>
#include <string>

#include "wire/control_block.h"
#include "wire/loss.h"
#include "wire/session.h"

namespace sampan::wire {
namespace {

TEST(Names, EveryLossHasItsOwnKeyAndText) {
  std::set<std::string> keys;
  std::set<std::string> texts;
  for (unsigned i = 0; i < kLossCount; ++i) {
    keys.insert(loss_key(static_cast<Loss>(i)));
    texts.insert(loss_text(static_cast<Loss>(i)));
  }
  EXPECT_EQ(keys.size(), kLossCount);
  EXPECT_EQ(texts.size(), kLossCount);
  EXPECT_EQ(keys.count(loss_key(static_cast<Loss>(kLossCount))), 0u);
  EXPECT_EQ(keys.count("ring_full"), 1u);
}

TEST(Names, EveryStopReasonHasItsOwnText) {
  std::set<std::string> texts;
  for (unsigned i = 0; i < kStopReasonCount; ++i) {
    texts.insert(stop_reason_text(static_cast<StopReason>(i)));
  }
  EXPECT_EQ(texts.size(), kStopReasonCount);
  EXPECT_EQ(texts.count(stop_reason_text(static_cast<StopReason>(kStopReasonCount))), 0u);
}

// Both sides of a session compute these; another layout needs another kWireVersion.
TEST(ControlBlock, LayoutIsThatOfItsVersion) {
  ASSERT_EQ(kWireVersion, 13u);
  EXPECT_EQ(sizeof(RingPositions), 128u);
  EXPECT_EQ(sizeof(ControlBlock), 448u);
  EXPECT_EQ(sizeof(ThreadSlot), 3904u);
  EXPECT_EQ(kSlotsOffset % kPage, 0u);
  EXPECT_EQ(kSlotStride % kPage, 0u);
  EXPECT_EQ(sizeof(Hello), 24u);
  EXPECT_EQ(sizeof(Welcome), 28u);
}

TEST(ControlBlock, PartsDoNotOverlap) {
  for (const uint32_t slots : {kFewestSlots, kMostSlots}) {
    const MemoryShape shape{slots, true};
    // Addresses only: nothing of it is touched.
    void* const base =
        mmap(nullptr, shape.size(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ASSERT_NE(base, MAP_FAILED);
    const auto address = [&](const void* p) {
      return static_cast<size_t>(static_cast<const uint8_t*>(p) - static_cast<uint8_t*>(base));
    };
    const size_t first_slot = address(thread_slot(base, 0));
    EXPECT_GE(first_slot, address(process_ring_buffer(base).data()) + kProcessRingSize);
    EXPECT_GE(address(thread_ring_buffer(base, 0).data()), first_slot + sizeof(ThreadSlot));
    EXPECT_GE(address(thread_slot(base, 1)),
              address(thread_ring_buffer(base, 0).data()) + kThreadRingSize);
    const size_t names = address(marker_names(base, slots));
    EXPECT_EQ(address(thread_ring_buffer(base, slots - 1).data()) + kThreadRingSize, names);
    EXPECT_EQ(names, shape.markers_offset());
    EXPECT_GE(address(lane_positions(base, slots, 0)), names + sizeof(MarkerNames));
    EXPECT_EQ(address(lane_cells(base, slots, 0).data() + kLaneCells),
              address(lane_positions(base, slots, 1)));
    const size_t late = address(late_frees(base, slots));
    EXPECT_EQ(address(lane_cells(base, slots, kLaneCount - 1).data() + kLaneCells), late);
    EXPECT_LE(late + sizeof(LateFrees), shape.size());
    EXPECT_EQ(late % alignof(LateFrees), 0u);
    munmap(base, shape.size());
  }
}

TEST(ControlBlock, SmallerMemoryHasTheFirstSlotsAndNoMarkers) {
  for (const uint32_t slots : {1u, kFewestSlots, kMostSlots}) {
    const MemoryShape whole{slots, true};
    const MemoryShape unmarked{slots, false};
    EXPECT_EQ(shape_within(UINT64_MAX, slots), whole);
    EXPECT_EQ(shape_within(whole.size(), slots), whole);
    EXPECT_EQ(shape_within(whole.size() - 1, slots), unmarked);
    EXPECT_EQ(shape_within(unmarked.size(), slots), unmarked);
    EXPECT_EQ(shape_within(unmarked.size() - 1, slots), (MemoryShape{slots - 1, false}));
    EXPECT_EQ(shape_within(0, slots), MemoryShape());
    EXPECT_EQ(unmarked.mapped_size(), whole.size());
  }
}

TEST(ControlBlock, LimitedAddressSpaceHasFewerSlots) {
  EXPECT_EQ(slots_permitted(UINT64_MAX), kMostSlots);
  EXPECT_EQ(slots_permitted(0), 0u);
  for (const uint32_t slots : {kFewestSlots, kMostSlots}) {
    const uint64_t least = kShareOfAddressSpace * MemoryShape{slots, true}.size();
    EXPECT_EQ(slots_permitted(least), slots);
    EXPECT_EQ(slots_permitted(least - 1), slots == kFewestSlots ? 0 : slots - 1);
  }
}

}  // namespace
}  // namespace sampan::wire

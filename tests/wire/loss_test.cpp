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
  ASSERT_EQ(kWireVersion, 10u);
  EXPECT_EQ(sizeof(RingPositions), 128u);
  EXPECT_EQ(sizeof(ControlBlock), 384u);
  EXPECT_EQ(sizeof(ThreadSlot), 3840u);
  EXPECT_EQ(kSlotsOffset % kPage, 0u);
  EXPECT_EQ(kSlotStride % kPage, 0u);
  EXPECT_LE(kSharedSize, UINT32_MAX);  // Hello::wire_size
  EXPECT_EQ(sizeof(Hello), 24u);
  EXPECT_EQ(sizeof(Welcome), 28u);
}

TEST(ControlBlock, SlotsAndTheirBuffersDoNotOverlap) {
  // Addresses only: nothing of it is touched.
  void* const reserved =
      mmap(nullptr, kSharedSize, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(reserved, MAP_FAILED);
  auto* const base = static_cast<uint8_t*>(reserved);
  const auto address = [&](const void* p) {
    return static_cast<uintptr_t>(static_cast<const uint8_t*>(p) - base);
  };
  const uintptr_t first_slot = address(thread_slot(base, 0));
  EXPECT_GE(first_slot, address(process_ring_buffer(base).data()) + kProcessRingSize);
  EXPECT_GE(address(thread_ring_buffer(base, 0).data()), first_slot + sizeof(ThreadSlot));
  EXPECT_GE(address(thread_slot(base, 1)),
            address(thread_ring_buffer(base, 0).data()) + kThreadRingSize);
  EXPECT_EQ(address(thread_ring_buffer(base, kSlotCount - 1).data()) + kThreadRingSize,
            kMarkerNamesOffset);
  EXPECT_EQ(address(lane_positions(base, 0)), kMarkerNamesOffset + kMarkerNamesSize);
  EXPECT_EQ(address(lane_cells(base, 0).data() + kLaneCells), address(lane_positions(base, 1)));
  EXPECT_EQ(address(lane_cells(base, kLaneCount - 1).data() + kLaneCells), kSharedSize);
  munmap(reserved, kSharedSize);
}

TEST(ControlBlock, SmallerMemoryHasTheFirstSlots) {
  EXPECT_EQ(slots_within(UINT64_MAX), kSlotCount);
  EXPECT_EQ(slots_within(kSharedSize), kSlotCount);
  EXPECT_EQ(slots_within(kSharedSize - 1), kSlotCount - 1);  // no room for markers: not whole
  EXPECT_EQ(slots_within(size_with(1)), 1u);
  EXPECT_EQ(slots_within(size_with(1) - 1), 0u);
  EXPECT_EQ(slots_within(0), 0u);
  for (const uint32_t slots : {1u, 17u, kSlotCount - 1, kSlotCount}) {
    EXPECT_EQ(slots_within(size_with(slots)), slots);
  }
}

}  // namespace
}  // namespace sampan::wire

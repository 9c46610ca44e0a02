// The layout of the memory that one process of the target shares with the collector. The collector
// creates the memfd (sealed: neither side can change its size), zero-filled; the shim maps it.
//
//   offset 0               ControlBlock
//   kProcessRingOffset     the process ring's buffer
//   kSlotsOffset           slots x { ThreadSlot, the thread ring's buffer }
//   after the last slot    MarkerNames, then kLaneCount x { LanePositions, the lane's cells }, then LateFrees
//
// The process says how many slots it can have (Hello::slots); so many threads are sampled at a time. Where a limit
// on file sizes (ulimit -f) leaves less room, the memory ends after some of the slots: no markers are
// recorded, and no frees that come late.
//
// The shim maps the slots that it uses, and the rest once there are markers (preload/process/shared_memory.h).
// A slot belongs to one thread at a time and is used again once that thread has ended: the ring
// tells where one thread ends and the next begins. Unused slots cost no memory.
//
// Freestanding: linked into the target.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "wire/drum.h"
#include "wire/late_frees.h"
#include "wire/loss.h"
#include "wire/marker_lane.h"
#include "wire/ring.h"
#include "wire/shown_context.h"

namespace sampan::wire {

// Both sides of a session must have the same version: the shim does not join another one.
inline constexpr uint32_t kWireVersion = 13;

// Samples per second of a thread's CPU time.
inline constexpr uint32_t kHighestRateHz = 10'000;

inline constexpr size_t kProcessRingSize = size_t{1} << 17;
inline constexpr size_t kThreadRingSize = size_t{1} << 15;
// A thread in a slot costs two of the process's mappings, for its alternate stack, and its own stack is two more. The kernel
// permits 65,530 (vm.max_map_count): more slots would take what the program needs.
inline constexpr uint32_t kMostSlots = 16'384;
// A process whose address space has no room for this many is not sampled.
inline constexpr uint32_t kFewestSlots = 64;

// What the shim asks for where it cannot go on itself: in a root without it, in a network namespace from which the
// collector cannot be reached, in a program that takes no shim. The process waits for the answer.
enum class Outside : uint32_t {
  kNothing = 0,  // set by the target again when it has the answer
  kImage = 1,  // ControlBlock::asked_pid executes a program next that is to be sampled from outside
  kChildren = 2,    // children of this process have not joined, and are to be sampled from outside
  kAttached = 3,    // the answer: they are
  kRefused = 4,     // the answer: that is not permitted
  kUnanswered = 5,  // the target has waited in vain: nobody asks any more
  kAsking = 6,      // somebody is about to ask
  kProgram = 7,     // ControlBlock::asked_pid has just executed such a program
};

struct ControlBlock {
  RingPositions process_ring;
  // Slots with an index below this one have been used. Grows only.
  std::atomic<uint32_t> slots_used;
  // Set while sampling is on; the collector clears it to make the handlers return at once.
  std::atomic<uint32_t> enabled;
  // The requested samples per second of a thread's CPU. The collector may write it at any time; a
  // thread follows at its next sample.
  std::atomic<uint32_t> rate_hz;
  // Not 0: sampling is off for now. Set by the program, or by the collector for `sampan ctl`.
  std::atomic<uint32_t> paused;
  // Not 0: there is a drummer for threads that want one. Written by the collector, before the process joins; cleared when the
  // kernel does not permit it any more.
  std::atomic<uint32_t> drummed;
  // The mean number of bytes between two sampled allocations, and the wait in ns from which each wait for a lock is
  // recorded; 0: none are recorded. The collector may write them at any time; they matter only to a process with
  // libsampan_wrappers.so inside.
  std::atomic<uint64_t> heap_mean;
  std::atomic<uint64_t> lock_limit_ns;
  std::atomic<Outside> outside;
  std::atomic<int32_t> asked_pid;  // 0: the process itself; a child of it, perhaps in its memory
  std::atomic<uint64_t> losses[kLossCount];  // by Loss; written by the target
};

struct ThreadSlot {
  Drum drum;
  RingPositions ring;
  std::atomic<uint64_t> left_out_ns;  // CPU that its thread has used while sampling was off
  std::atomic<uint32_t> rate_hz;      // of its thread's clock
  // Sums over all threads that the slot has had: CPU that samples used in the handler, and signals
  // that took a sample, by clock.
  std::atomic<uint64_t> handler_ns, timer_signals, perf_signals, beats;
  OpenSpans open;
  ShownContext context;
};

inline constexpr size_t kPage = 4096;
inline constexpr size_t kProcessRingOffset = kPage;
inline constexpr size_t kSlotsOffset = kProcessRingOffset + kProcessRingSize;
inline constexpr size_t kSlotStride = kPage + kThreadRingSize;
inline constexpr size_t kMarkerNamesSize = (sizeof(MarkerNames) + kPage - 1) / kPage * kPage;
inline constexpr size_t kLaneStride = kPage + kLaneCells * sizeof(MarkerCell);
inline constexpr size_t kMarkersSize = kMarkerNamesSize + kLaneCount * kLaneStride;
inline constexpr size_t kLateFreesSize = (sizeof(LateFrees) + kPage - 1) / kPage * kPage;
inline constexpr size_t kAfterSlots = kMarkersSize + kLateFreesSize;
static_assert(sizeof(ControlBlock) <= kPage && sizeof(ThreadSlot) <= kPage);

struct MemoryShape {
  uint32_t slots = 0;
  bool markers = false;  // and what follows them

  bool operator==(const MemoryShape&) const = default;
  constexpr size_t markers_offset() const { return kSlotsOffset + slots * kSlotStride; }
  constexpr size_t size() const { return markers_offset() + (markers ? kAfterSlots : 0); }
  // Both sides map so much. Where the memory has no markers, what they map is private and stays empty.
  constexpr size_t mapped_size() const { return markers_offset() + kAfterSlots; }
};

// The memory that a file of at most `size` bytes can have, for a process that has asked for `slots`.
constexpr MemoryShape shape_within(uint64_t size, uint32_t slots) {
  const MemoryShape whole{slots, true};
  if (size >= whole.size()) return whole;
  if (size < kSlotsOffset) return {};
  const uint64_t room = (size - kSlotsOffset) / kSlotStride;
  return {room < slots ? static_cast<uint32_t>(room) : slots, false};
}

// How many slots a process can have whose address space is limited to `limit` bytes; 0: too few. Hardly any page of the
// memory is ever used, but the limit counts them all, so the memory takes at most this part of it.
inline constexpr uint64_t kShareOfAddressSpace = 8;
constexpr uint32_t slots_permitted(uint64_t limit) {
  const uint64_t room = limit / kShareOfAddressSpace;
  if (room < MemoryShape{kFewestSlots, true}.size()) return 0;
  const uint64_t slots = (room - kAfterSlots - kSlotsOffset) / kSlotStride;
  return slots < kMostSlots ? static_cast<uint32_t>(slots) : kMostSlots;
}

inline ControlBlock* control_block(void* base) {
  return static_cast<ControlBlock*>(base);
}
inline std::span<uint8_t> process_ring_buffer(void* base) {
  return {static_cast<uint8_t*>(base) + kProcessRingOffset, kProcessRingSize};
}
inline ThreadSlot* thread_slot(void* base, uint32_t index) {
  return reinterpret_cast<ThreadSlot*>(static_cast<uint8_t*>(base) + kSlotsOffset +
                                       index * kSlotStride);
}
inline std::span<uint8_t> thread_ring_buffer(void* base, uint32_t index) {
  return {static_cast<uint8_t*>(base) + kSlotsOffset + index * kSlotStride + kPage,
          kThreadRingSize};
}
// `slots`: that the memory has.
inline MarkerNames* marker_names(void* base, uint32_t slots) {
  return reinterpret_cast<MarkerNames*>(static_cast<uint8_t*>(base) +
                                        MemoryShape{slots}.markers_offset());
}
inline LanePositions* lane_positions(void* base, uint32_t slots, uint32_t lane) {
  return reinterpret_cast<LanePositions*>(reinterpret_cast<uint8_t*>(marker_names(base, slots)) +
                                          kMarkerNamesSize + lane * kLaneStride);
}
inline std::span<MarkerCell> lane_cells(void* base, uint32_t slots, uint32_t lane) {
  return {reinterpret_cast<MarkerCell*>(
              reinterpret_cast<uint8_t*>(lane_positions(base, slots, lane)) + kPage),
          kLaneCells};
}
inline LateFrees* late_frees(void* base, uint32_t slots) {
  return reinterpret_cast<LateFrees*>(reinterpret_cast<uint8_t*>(marker_names(base, slots)) +
                                      kMarkersSize);
}

}  // namespace sampan::wire

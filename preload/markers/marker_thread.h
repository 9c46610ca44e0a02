// The calling thread, for markers: found in a moment once it is known.
//
// Async-signal-safe. Freestanding: linked into the target.
#pragma once

#include <atomic>
#include <cstdint>

#include "preload/markers/open_sections.h"
#include "preload/samples/sample.h"
#include "wire/control_block.h"
#include "wire/marker_lane.h"

namespace sampan::preload {

// The markers of one thread.
struct MarkerState {
  int32_t tid;
  SampleState* samples;  // of the same thread
  wire::LaneWriter lane;
  wire::OpenSpans* open;        // in the shared memory, for the collector
  std::atomic<uint32_t> depth;  // open->depth, which the collector could overwrite
  uint32_t inherited;           // spans that were open in the parent when this process was forked
  uint64_t first_id;            // of the block of ids that the thread is using
  uint64_t next_id;
  OpenSections<32> sections;  // of this thread alone
};

// A record that the thread is about to write, without a name.
inline wire::MarkerRecord marker_record(const MarkerState& markers, wire::MarkerType type,
                                        uint64_t first_value) {
  wire::MarkerRecord record{};
  record.type = static_cast<uint8_t>(type);
  record.tid = markers.tid;
  record.name = wire::kInlineName;
  record.value[0] = first_value;
  return record;
}

// At start-up: how to find the calling thread's state; null for a thread that has none.
void find_markers_by(MarkerState* (*current)());
// Threads that pthread_create did not make. They may share the thread-local storage of another
// thread.
inline std::atomic<uint32_t> foreign_threads;

// The calling thread's state. Null when nothing is recorded now, or nothing of this thread
// (counted).
MarkerState* marker_thread();
// Whether anything is recorded now.
bool markers_recorded();

// For a thread that is about to get the slot.
void prepare_markers(MarkerState& markers, uint32_t slot, SampleState& samples);
// The calling thread is about to give up its slot: its later markers are lost (counted).
void leave_marker_thread();
// The thread ends by itself, or has ended. Its open spans end with it.
void close_markers(MarkerState& markers);
// In a forked child, with its new shared memory. It begins with nothing open. Ends of what was open
// in its parent are ignored. `survivor` may be null.
void markers_after_fork(MarkerState* survivor);

}  // namespace sampan::preload

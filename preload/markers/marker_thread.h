// The calling thread, for markers: found in a moment once it is known.
//
// Async-signal-safe. Freestanding: linked into the target.
#pragma once

#include <atomic>
#include <cstdint>

#include "preload/open_sections.h"
#include "wire/control_block.h"
#include "wire/lane_writer.h"

namespace sampan::preload {

struct ThreadState;

// The part of a thread's state (threads.h) that is for markers.
struct MarkerState {
  wire::LaneWriter lane;
  wire::OpenSpans* open;        // in the shared memory, for the collector
  std::atomic<uint32_t> depth;  // open->depth, which the collector could overwrite
  uint32_t inherited;           // spans that were open in the parent when this process was forked
  uint64_t first_id;            // of the block of ids that the thread is using
  uint64_t next_id;
  OpenSections<32> sections;  // its own
};

// A record that the thread is about to write; its name is not interned, and empty.
inline wire::MarkerRecord marker_record(int32_t tid, wire::MarkerType type, uint64_t first_value) {
  wire::MarkerRecord record{};
  record.type = static_cast<uint8_t>(type);
  record.tid = tid;
  record.name = wire::kInlineName;
  record.value[0] = first_value;
  return record;
}

// Null when nothing is recorded now, or nothing of this thread (counted).
ThreadState* marker_thread();
// Whether anything is recorded now.
bool markers_recorded();

// For a thread that is about to begin, in that slot.
void prepare_markers(MarkerState& markers, uint32_t slot);
// The calling thread is about to give its slot up: its markers are lost from here on (counted).
void leave_marker_thread();
// The thread ends: by its own hand, or because it is known to be gone. Its spans end with it.
void close_markers(ThreadState& thread);
// In a forked child, with its new shared memory. It begins with nothing open; ends of what was open
// in its parent are no mistakes, and are ignored. `survivor` may be null.
void markers_after_fork(ThreadState* survivor);

}  // namespace sampan::preload

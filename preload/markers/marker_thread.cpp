#include "preload/markers/marker_thread.h"

#include "preload/markers/marker_functions.h"
#include "preload/markers/marker_names.h"
#include "preload/process/process.h"

namespace sampan::preload {
namespace {

// Looked up once. `left`: the slot may have another owner.
struct Here {
  MarkerState* markers;
  bool left;
};
constinit thread_local Here here{};

MarkerState* (*find_current)();

bool storage_may_be_shared() {
  return foreign_threads.load(std::memory_order_relaxed) != 0;
}

bool recording() {
  return this_process.started.load(std::memory_order_relaxed) &&
         wire::control_block(this_process.shared)->enabled.load(std::memory_order_relaxed) != 0;
}

__attribute__((noinline)) MarkerState* find_marker_thread() {
  if (!active() || !recording()) return nullptr;
  MarkerState* markers = here.left ? nullptr : find_current();
  if (markers == nullptr) {
    count_loss(wire::Loss::kMarkerNoThread);
  } else if (!storage_may_be_shared()) {
    here.markers = markers;
  }
  return markers;
}

void use_memory_of_slot(MarkerState& markers, uint32_t slot) {
  const uint32_t lane = slot % wire::kLaneCount;
  markers.lane = {wire::lane_positions(this_process.shared, this_process.shape.slots, lane),
                  wire::lane_cells(this_process.shared, this_process.shape.slots, lane)};
  markers.open = &wire::thread_slot(this_process.shared, slot)->open;
  markers.depth.store(0, std::memory_order_relaxed);
  markers.open->depth.store(0, std::memory_order_relaxed);
}

}  // namespace

void find_markers_by(MarkerState* (*current)()) {
  find_current = current;
}

MarkerState* marker_thread() {
  MarkerState* markers = here.markers;
  if (markers != nullptr && !storage_may_be_shared() && recording() &&
      *this_process.fork_marker != 0) {
    return markers;
  }
  return find_marker_thread();
}

bool markers_recorded() {
  return active() && recording();
}

void leave_marker_thread() {
  here = {nullptr, true};
}

void prepare_markers(MarkerState& markers, uint32_t slot, SampleState& samples) {
  markers.samples = &samples;
  use_memory_of_slot(markers, slot);
  markers.inherited = 0;
  markers.sections.clear();
}

void markers_after_fork(MarkerState* survivor) {
  marker_names_after_fork();
  sections_after_fork();
  if (survivor == nullptr) return;
  survivor->inherited += survivor->depth.load(std::memory_order_relaxed);
  use_memory_of_slot(*survivor, survivor->samples->slot);
  survivor->sections.after_fork();
  prepare_trace(survivor->samples->trace,
                wire::thread_slot(this_process.shared, survivor->samples->slot)->context);
}

void close_markers(MarkerState& markers) {
  close_spans(markers);
  markers.sections.clear();
}

}  // namespace sampan::preload

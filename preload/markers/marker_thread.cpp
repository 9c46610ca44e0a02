#include "preload/marker_thread.h"

#include "preload/marker_names.h"
#include "preload/marker_sections.h"
#include "preload/marker_spans.h"
#include "preload/process.h"
#include "preload/threads.h"

namespace sampan::preload {
namespace {

// Looked up once. `left`: its slot may have another owner.
struct Here {
  ThreadState* thread;
  bool left;
};
constinit thread_local Here here{};

bool recording() {
  return this_process.started.load(std::memory_order_relaxed) &&
         wire::control_block(this_process.shared)->enabled.load(std::memory_order_relaxed) != 0;
}

__attribute__((noinline)) ThreadState* find_marker_thread() {
  if (!active() || !recording()) return nullptr;
  ThreadState* thread = here.left ? nullptr : current_thread();
  if (thread == nullptr) {
    count_loss(wire::Loss::kMarkerNoThread);
  } else if (!threads_may_share_storage()) {
    here.thread = thread;
  }
  return thread;
}

void use_memory_of_slot(MarkerState& markers, uint32_t slot) {
  const uint32_t lane = slot % wire::kLaneCount;
  markers.lane = {wire::lane_positions(this_process.shared, lane),
                  wire::lane_cells(this_process.shared, lane)};
  markers.open = &wire::thread_slot(this_process.shared, slot)->open;
  markers.depth.store(0, std::memory_order_relaxed);
  markers.open->depth.store(0, std::memory_order_relaxed);
}

}  // namespace

ThreadState* marker_thread() {
  ThreadState* thread = here.thread;
  if (thread != nullptr && !threads_may_share_storage() && recording() &&
      *this_process.fork_marker != 0) {
    return thread;
  }
  return find_marker_thread();
}

bool markers_recorded() {
  return active() && recording();
}

void leave_marker_thread() {
  here = {nullptr, true};
}

void prepare_markers(MarkerState& markers, uint32_t slot) {
  use_memory_of_slot(markers, slot);
  markers.inherited = 0;
  markers.sections.clear();
}

void markers_after_fork(ThreadState* survivor) {
  marker_names_after_fork();
  sections_after_fork();
  if (survivor == nullptr) return;
  MarkerState& markers = survivor->markers;
  markers.inherited += markers.depth.load(std::memory_order_relaxed);
  use_memory_of_slot(markers, survivor->slot);
  markers.sections.after_fork();
}

void close_markers(ThreadState& thread) {
  close_spans(thread);
  thread.markers.sections.clear();
}

}  // namespace sampan::preload

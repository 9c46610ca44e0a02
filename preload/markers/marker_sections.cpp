#include "preload/marker_sections.h"

#include "base/clock.h"
#include "preload/marker_text.h"
#include "preload/marker_thread.h"
#include "preload/open_sections.h"
#include "preload/process.h"
#include "preload/sampling_switch.h"
#include "preload/threads.h"

namespace sampan::preload {
namespace {

using wire::MarkerRecord;
using wire::MarkerType;

// Of all threads.
constinit OpenSections<8192> sections{};
std::atomic<bool> ever_started;

MarkerRecord record_of(const ThreadState& thread, MarkerType type, bool calling_thread) {
  MarkerRecord record = marker_record(thread.tid, type, monotonic_ns());
  record.flags = calling_thread ? wire::kCallingThread : uint16_t{0};
  return record;
}

template <size_t kSize>
bool stop(OpenSections<kSize>& open, uint64_t hash) {
  using Stopped = typename OpenSections<kSize>::Stopped;
  const Stopped stopped = open.stop(hash);
  if (stopped == Stopped::kUnknown) count_loss(wire::Loss::kMarkerUnmatched);
  return stopped == Stopped::kHere;
}

}  // namespace

void section_start(const char* name, int calling_thread_only) {
  ThreadState* thread = marker_thread();
  if (thread == nullptr) return;
  const bool calling_thread = calling_thread_only != 0;
  const MarkerText text(name);
  const uint64_t hash = hash_of(text.view());
  if (!calling_thread) ever_started.store(true, std::memory_order_relaxed);
  if (!(calling_thread ? thread->markers.sections.start(hash) : sections.start(hash))) {
    return count_loss(wire::Loss::kMarkerFull);
  }
  thread->markers.lane.write(record_of(*thread, MarkerType::kSectionStart, calling_thread),
                             text.view());
  section_started(calling_thread);
}

void section_stop(const char* name, int calling_thread_only) {
  ThreadState* thread = marker_thread();
  if (thread == nullptr) return;
  const bool calling_thread = calling_thread_only != 0;
  const MarkerText text(name);
  const uint64_t hash = hash_of(text.view());
  if (!(calling_thread ? stop(thread->markers.sections, hash) : stop(sections, hash))) return;
  section_stopped(calling_thread);
  thread->markers.lane.write(record_of(*thread, MarkerType::kSectionStop, calling_thread),
                             text.view());
}

// The record's interval is the one without samples, and no wider.
void pause_by_program() {
  if (!markers_recorded()) return;
  pause_sampling();
  if (ThreadState* thread = marker_thread()) {
    thread->markers.lane.write(record_of(*thread, MarkerType::kPause, false));
  }
}

void resume_by_program() {
  if (!markers_recorded()) return;
  if (ThreadState* thread = marker_thread()) {
    thread->markers.lane.write(record_of(*thread, MarkerType::kResume, false));
  }
  resume_sampling();
}

void sections_after_fork() {
  if (ever_started.load(std::memory_order_relaxed)) sections.after_fork();
}

}  // namespace sampan::preload

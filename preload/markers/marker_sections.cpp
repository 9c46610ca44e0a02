#include "preload/markers/marker_functions.h"

#include "base/clock.h"
#include "preload/markers/marker_names.h"
#include "preload/markers/marker_thread.h"
#include "preload/markers/open_sections.h"
#include "preload/process/process.h"
#include "preload/samples/sampling_switch.h"

namespace sampan::preload {
namespace {

using wire::MarkerRecord;
using wire::MarkerType;

// Open sections of all threads.
constinit OpenSections<8192> sections{};
std::atomic<bool> ever_started;

MarkerRecord record_of(const MarkerState& thread, MarkerType type, bool calling_thread) {
  MarkerRecord record = marker_record(thread, type, monotonic_ns());
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

bool begin_section(const char* name, bool calling_thread) {
  MarkerState* const thread = marker_thread();
  if (thread == nullptr) return false;
  const MarkerText text(name);
  const uint64_t hash = hash_of(text.view());
  if (!calling_thread) ever_started.store(true, std::memory_order_relaxed);
  if (!(calling_thread ? thread->sections.start(hash) : sections.start(hash))) {
    count_loss(wire::Loss::kMarkerFull);
    return false;
  }
  thread->lane.write(record_of(*thread, MarkerType::kSectionStart, calling_thread), text.view());
  section_started(calling_thread ? thread->samples : nullptr);
  return true;
}

void section_start(const char* name, int calling_thread_only) {
  begin_section(name, calling_thread_only != 0);
}

void section_stop(const char* name, int calling_thread_only) {
  MarkerState* const thread = marker_thread();
  if (thread == nullptr) return;
  const bool calling_thread = calling_thread_only != 0;
  const MarkerText text(name);
  const uint64_t hash = hash_of(text.view());
  if (!(calling_thread ? stop(thread->sections, hash) : stop(sections, hash))) return;
  section_stopped(calling_thread ? thread->samples : nullptr);
  if (calling_thread) end_request(thread->samples->trace, hash);
  thread->lane.write(record_of(*thread, MarkerType::kSectionStop, calling_thread), text.view());
}

// The recorded interval is the one without samples, and no wider.
void pause_by_program() {
  if (!markers_recorded()) return;
  pause_sampling();
  if (MarkerState* const thread = marker_thread()) {
    thread->lane.write(record_of(*thread, MarkerType::kPause, false));
  }
}

void resume_by_program() {
  if (!markers_recorded()) return;
  if (MarkerState* const thread = marker_thread()) {
    thread->lane.write(record_of(*thread, MarkerType::kResume, false));
  }
  resume_sampling();
}

void sections_after_fork() {
  if (ever_started.load(std::memory_order_relaxed)) sections.after_fork();
}

}  // namespace sampan::preload

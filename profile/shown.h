// A profile whose samples are replaced by what else the recording has: blocks of the heap, waits for
// locks.
#pragma once

#include <cstdint>
#include <string>

#include "profile/profile.h"
#include "profile/view.h"

namespace sampan::profile {

// Takes the samples away, and all that is known of CPU; Profile::sampled keeps them. `unit`: what the
// weights of the next ones count, "" for time.
void replace_samples(Profile* profile, Shown shown, const std::string& unit);
// Adds one, by time, and counts it for its thread; `complete` is set by `stop`.
void add_sample(Sample sample, wire::StopReason stop, Profile* profile);

// The same profile with other samples: show_heap(), show_locks(), or those of its threads again. Throws
// Error when the recording has none.
void show(Shown shown, Profile* profile);
// The part of `profile` that a view is of the same profile when it showed something else: the same
// threads and time, and the same section. `heap`: of which blocks, if it shows the heap.
View same_part(const Profile& profile, const View& view, HeapPart heap);

// How long something was recorded, of the lives of the processes in which it could be.
struct WatchedTime {
  uint64_t on_ns = 0, lived_ns = 0;
  uint64_t least_setting = 0, most_setting = 0;  // of the time it was on; 0: it never was
};
WatchedTime watched_time(const Profile& profile, Watched what);

}  // namespace sampan::profile

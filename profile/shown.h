// A profile whose samples are replaced by what else the recording has: blocks of the heap, waits for
// locks.
#pragma once

#include <cstdint>
#include <string>

#include "profile/profile.h"

namespace sampan::profile {

// Takes the samples away, and all that is known of CPU. `unit`: what the weights of the next ones count,
// "" for time.
void replace_samples(Profile* profile, Shown shown, const std::string& unit);
// Adds one, by time, and counts it for its thread; `complete` is set by `stop`.
void add_sample(Sample sample, wire::StopReason stop, Profile* profile);

// The same profile with other samples: show_heap(), show_locks(), or as it is.
void show(Shown shown, Profile* profile);

// How long something was recorded, of the lives of the processes in which it could be.
struct WatchedTime {
  uint64_t on_ns = 0, lived_ns = 0;
  uint64_t least_setting = 0, most_setting = 0;  // of the time it was on; 0: it never was
};
WatchedTime watched_time(const Profile& profile, Watched what);

}  // namespace sampan::profile

#include "profile/profile.h"

#include <algorithm>

namespace sampan::profile {

SessionNs Profile::duration_ns() const {
  if (end) return end->time_ns;
  return samples.empty() ? SessionNs() : samples.back().time_ns;
}

bool Profile::has_waits() const {
  if (shown == Shown::kHeap) return false;
  // Those of locks are not of samples.
  return session.clock == "wall" ||
         std::ranges::any_of(waits, [](const Wait& wait) { return wait.lock == kNone; });
}

bool Profile::can_show(Shown what) const {
  switch (what) {
    case Shown::kSamples: return true;
    case Shown::kHeap: return !blocks.empty() || has_watched(Watched::kHeap);
    case Shown::kLocks: return !lock_waits.empty() || has_watched(Watched::kLocks);
  }
  return false;
}

bool Profile::has_watched(Watched what) const {
  return std::ranges::any_of(
      watch_changes, [&](const WatchChange& row) { return row.what == what && row.setting != 0; });
}

std::vector<std::string> notes_of_end(const Profile& profile) {
  if (!profile.end) return {"the recording ends early: sampan was killed or still runs"};
  if (profile.end->note.empty()) return {};
  return {profile.end->note};
}

std::string wait_name(const Wait& wait) {
  if (wait.call == kRunnable) return "[waiting for a CPU]";
  return "[" + wait.call + (wait.object.empty() ? "" : " " + wait.object) +
         (wait.held_in.empty() ? "" : " in " + wait.held_in) + "]";
}

}  // namespace sampan::profile

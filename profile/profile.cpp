#include "profile/profile.h"

#include <algorithm>

namespace sampan::profile {

SessionNs Profile::duration_ns() const {
  if (end) return end->time_ns;
  return samples.empty() ? SessionNs() : samples.back().time_ns;
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

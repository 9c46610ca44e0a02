// What `sampan dump` prints: the threads of a process as they were at one moment, for people and as
// data (docs/dump-json.md).
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "attach/snapshot.h"
#include "profile/frames.h"

namespace sampan::cli {

struct Dump {
  pid_t pid;
  std::string executable;
  std::vector<std::string> command;
  std::string time;  // ISO 8601 in UTC, to the millisecond
  std::vector<attach::ThreadSnapshot> threads;
  // The locations of each thread's frames, leaf first, in `profile`, which has their names.
  std::vector<std::vector<uint32_t>> locations;
  profile::Profile profile;
  std::vector<std::string> notes;
  uint64_t stopped_ns;
};

// Calls visit(const profile::Frame&, uint64_t avma) for the frames of a thread, innermost first.
// Recorded are addresses inside of calls; people know the one that a call returns to.
template <typename Visit>
void for_each_frame_of(const Dump& dump, size_t thread, Visit&& visit) {
  const std::vector<uint64_t>& avmas = dump.threads[thread].frames;
  for (size_t i = 0; i < avmas.size(); ++i) {
    for_each_frame(dump.profile, dump.locations[thread][i],
                   [&](const profile::Frame& frame) { visit(frame, avmas[i] + (i == 0 ? 0 : 1)); });
  }
}

// The process now. `threads`: names or tids; empty: all. `progress`: called while names are looked
// up, with how many are done of all. Throws Error.
Dump take_dump(pid_t pid, const std::vector<std::string>& threads,
               const std::function<void(size_t done, size_t all)>& progress = {});

std::string dump_as_text(const Dump& dump);
std::string dump_as_json(const Dump& dump);

}  // namespace sampan::cli

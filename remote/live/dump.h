// The output of `sampan dump`: the threads of a process at one moment, as text and as JSON
// (docs/dump-json.md).
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "profile/frames.h"
#include "profile/python_stacks.h"
#include "remote/live/dump_head.h"
#include "sampler/inspect/snapshot.h"
#include "symbolizer/symbolizer.h"

namespace sampan::live {

struct Dump {
  DumpHead head;
  std::vector<sampler::ThreadSnapshot> threads;
  // For each thread the locations of its frames in `profile`, leaf first, as they are shown.
  std::vector<std::vector<uint32_t>> locations;
  std::vector<uint64_t> avmas;  // lookup AVMAs, by location; 0: of an interpreter
  profile::Profile profile;
  std::vector<sampler::Deadlock> deadlocks;
  std::map<pid_t, std::string> names;  // of all threads of the process, by tid
  std::vector<std::string> notes;
  uint64_t stopped_ns;
};

// Calls visit(const profile::Frame&, uint64_t avma) for the frames of a thread, innermost first.
// Locations are addresses inside of calls; `avma` is the return address, which users expect; 0 for a
// function of an interpreter.
template <typename Visit>
void for_each_frame_of(const Dump& dump, size_t thread, Visit&& visit) {
  bool is_leaf = true;
  for (const uint32_t location : dump.locations[thread]) {
    const uint64_t lookup = dump.avmas[location];
    const uint64_t avma = is_leaf || lookup == 0 ? lookup : lookup + 1;
    for_each_frame(dump.profile, location,
                   [&](const profile::Frame& frame) { visit(frame, avma); });
    is_leaf = false;
  }
}

// Where the symbolizer opens files of a process that their paths do not name. They can be opened
// while `hidden` lives.
std::vector<symbolizer::Substitute> substitutes(const std::vector<sampler::HiddenFile>& hidden);

// Takes a dump. `threads`: names or tids; empty: all. `python`: which frames of an interpreter's
// threads are shown. `progress`: called during the lookup of names, with the number of finished and
// of all locations. Throws Error.
Dump take_dump(pid_t pid, const std::vector<std::string>& threads,
               profile::PythonFrames python = profile::PythonFrames::kMixed,
               const std::function<void(size_t done, size_t all)>& progress = {});

std::string dump_as_text(const Dump& dump);
std::string dump_as_json(const Dump& dump);

}  // namespace sampan::live

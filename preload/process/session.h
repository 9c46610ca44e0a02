// How a process joins its session: the target's side of wire/session.h.
//
// Ordinary context; no descriptor stays open. Freestanding: linked into the target.
#pragma once

#include <cstdint>

namespace sampan::preload {

struct Session {
  void* shared;    // the mapping of wire/control_block.h; null: not joined
  uint32_t slots;  // that it has
  bool follow;
  bool sections_only;
  bool python;
  bool perf;
  bool waits_at_end;
};

// A child of fork.
struct JoiningChild {
  void* at;        // its shared memory is mapped over this, its parent's
  uint32_t slots;  // which has so many
  bool paused;     // sampling was off there
};

// Joins the session with the socket `name`. `child`: null for a new image.
Session join_session(const char* name, const JoiningChild* child);

// Whether the collector can be reached.
bool reaches_collector(const char* name);

// At the end of a process that waits for the collector (wire/session.h): returns when that has recorded everything, or
// after two seconds.
void say_goodbye(const char* name);

// Profiling without the launcher, by LD_PRELOAD and SAMPAN=1 alone: the first process starts the
// collector of a new session, waits until it listens, and puts the session into the environment for
// itself and its children. False when that fails.
bool start_collector();

}  // namespace sampan::preload

// How a process joins its session: the target's side of wire/session.h.
//
// Ordinary context; no descriptor stays open. Freestanding: linked into the target.
#pragma once

#include "wire/control_block.h"

namespace sampan::preload {

struct Session {
  void* shared;  // the mapping of wire/control_block.h; null: not joined
  wire::MemoryShape shape;
  bool follow;
  bool sections_only;
  bool python;
  bool perf;
  bool waits_at_end;
};

struct JoiningProcess {
  wire::MemoryShape shape;  // that it asks for; a new image may get less
  void* at;     // a child of fork: its memory is mapped over this, its parent's; null: a new image
  bool paused;  // a child of fork: sampling was off in its parent
};

// Joins the session with the socket `name`.
Session join_session(const char* name, const JoiningProcess& process);

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

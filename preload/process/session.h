// How a process joins its session: wire/session.h, from the side of the target.
//
// Ordinary context; no descriptor stays open. Freestanding: linked into the target.
#pragma once

#include <cstdint>

namespace sampan::preload {

struct Session {
  void* shared;  // the mapping of wire/control_block.h; null: not joined
  bool follow;
  bool sections_only;
};

// A child of fork.
struct JoiningChild {
  void* at;     // its shared memory is mapped over this, its parent's
  bool paused;  // sampling was off there
};

// Joins the session whose socket has the name `name`. `child`: null for a new image.
Session join_session(const char* name, const JoiningChild* child);

// Waits until a collector listens at `name`, at most `milliseconds`.
bool wait_for_collector(const char* name, int milliseconds);

}  // namespace sampan::preload

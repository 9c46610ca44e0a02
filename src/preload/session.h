// How a process joins its session: wire/session.h, from the side of the target.
//
// Ordinary context; no descriptor stays open. Freestanding: linked into the target.
#pragma once

#include <cstdint>

namespace sampan::preload {

struct Session {
  void* shared;  // the mapping of wire/control_block.h; null: not joined
  uint32_t rate_hz;
  bool follow;
};

// Joins the session whose socket has the name `name`. `at`: map the shared memory over this address
// instead of anywhere (after fork, over the parent's). `forked`: see Hello.
Session join_session(const char* name, bool forked, void* at);

// Waits until a collector listens at `name`, at most `milliseconds`.
bool wait_for_collector(const char* name, int milliseconds);

}  // namespace sampan::preload

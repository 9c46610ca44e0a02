// Profiling without the launcher: LD_PRELOAD and SAMPAN=1 alone. The first process starts the
// collector itself.
//
// Freestanding: linked into the target.
#pragma once

namespace sampan::preload {

// Starts a collector for a new session, waits until it listens, and sets the session in the
// environment, for us and our children. False when that fails.
bool start_collector();

}  // namespace sampan::preload

// Whether an executable file can be preloaded into. Freestanding: linked into the target.
#pragma once

namespace sampan::preload {

// Looks at the file that is about to be executed, and counts it when the loader will not bring the
// shim into it: no interpreter (static), another C library (musl) or machine, or setuid. `search`:
// along PATH, when it has no slash. False when its loader must not be asked for the shim: it would
// complain or give up.
bool look_at_image(const char* file, bool search);

}  // namespace sampan::preload

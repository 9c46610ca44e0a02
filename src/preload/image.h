// Whether an executable file can be preloaded into. Freestanding: linked into the target.
#pragma once

namespace sampan::preload {

// Looks at the file that is about to be executed, and counts it when the loader will not bring the
// shim into it: no interpreter (static), or setuid. `search`: along PATH, when it has no slash.
void count_unprofiled_image(const char* file, bool search);

}  // namespace sampan::preload

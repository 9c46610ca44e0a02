// What the environment says to the shim, and what it hands on to the images that the program
// executes.
//
// Freestanding: linked into the target.
#pragma once

#include <cstddef>

namespace sampan::preload {

// Reads the environment, once, in the constructor. `shim_path`: as it is to stand in LD_PRELOAD.
void read_environment(const char* shim_path);

bool enabled_by_environment();  // SAMPAN=1
bool perf_allowed();            // SAMPAN_PERF is not 0
const char* session_name();     // null: none
void set_session_name(const char* name);
const char* shim_path();

}  // namespace sampan::preload

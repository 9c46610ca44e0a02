// The names of threads, as they change. Freestanding: linked into the target.
#pragma once

#include <cstdint>

namespace sampan::preload {

// Records the name of the thread `tid`; the kernel's limit applies.
void record_thread_name(int32_t tid, const char* name);

}  // namespace sampan::preload

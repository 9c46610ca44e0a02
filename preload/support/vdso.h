// The kernel's clocks in the vDSO, without the C library, whose function the runtime of a sanitizer may replace.
//
// Freestanding: linked into the target.
#pragma once

#include <time.h>

namespace sampan::preload {

using VdsoClock = int(clockid_t, timespec*);
inline constinit VdsoClock* vdso_clock = nullptr;  // null: by system call

// Once, at start-up.
void find_vdso_clock();

}  // namespace sampan::preload

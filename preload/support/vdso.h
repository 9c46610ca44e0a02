// What the kernel's vDSO has. Its clocks are read without the C library, whose function the runtime of a sanitizer may replace.
//
// Freestanding: linked into the target.
#pragma once

#include <time.h>

#include <cstdint>

namespace sampan::preload {

using VdsoClock = int(clockid_t, timespec*);
inline constinit VdsoClock* vdso_clock = nullptr;  // null: by system call

// Where a handler returns to that has no restorer; 0: the processor's programs bring their own.
inline constinit uint64_t vdso_signal_return = 0;

// Once, at start-up.
void find_vdso();

}  // namespace sampan::preload

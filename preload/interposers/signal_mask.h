// The calling thread's mask as the program knows it.
//
// Freestanding: linked into the target. Async-signal-safe.
#pragma once

#include <cstdint>

namespace sampan::preload {

// Returns the mask before the change, as the program knows it. The shim acts here (signals_active).
uint64_t change_program_mask(int how, uint64_t bits);

}  // namespace sampan::preload

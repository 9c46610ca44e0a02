// The way from a pc to the return of its function, for code without unwind information, by its
// instructions.
//
// Freestanding: linked into the target.
#pragma once

#if defined(__aarch64__)
#include "unwind/aarch64/return_path.h"
#else
#include "unwind/x86_64/return_path.h"
#endif

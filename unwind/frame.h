// Frames of the processor that this is built for.
//
// Freestanding: linked into the target.
#pragma once

#if defined(__aarch64__)
#include "unwind/aarch64/frame.h"
#else
#include "unwind/x86_64/frame.h"
#endif

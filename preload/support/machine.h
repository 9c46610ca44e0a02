// What the shim needs of the processor that it is built for.
//
// Freestanding: linked into the target.
#pragma once

#if defined(__aarch64__)
#include "preload/support/aarch64/machine.h"
#else
#include "preload/support/x86_64/machine.h"
#endif

// A thread that ends before the kernel's tick has met it once has no sample, and programs that make
// many such threads may even run in step with the tick. What it used is known all the same: it is
// recorded when the thread ends, under the function that the thread was made for.
//
// Ordinary context. Freestanding: linked into the target.
#pragma once

#include <cstdint>

#include "preload/threads.h"

namespace sampan::preload {

// By the thread itself, its sampling signal blocked: a sample with kShortThread as its leaf, when
// there was none before. `cpu_ns`: the thread's CPU clock.
void record_short_thread(ThreadState& thread, uint64_t cpu_ns);

}  // namespace sampan::preload

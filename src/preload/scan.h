// Finds threads that nobody told us of: those that were there before us, and those that raw clone()
// made. And finds threads gone that could not tell it.
//
// By system calls alone: may run in the handler. Freestanding: linked into the target.
#pragma once

#include <cstdint>

namespace sampan::preload {

// Looks at /proc/self/task. Does nothing when another thread is at it.
void scan_threads();
// The same, at most every 100 ms, and only when the process has used CPU that none of its known
// threads has: for a moment, the look needs a descriptor, which the program might have wanted.
void scan_when_due(uint64_t now_ns);
// In a forked child: another thread may have been at it.
void scan_after_fork();

}  // namespace sampan::preload

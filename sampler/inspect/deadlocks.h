// Threads of a process that wait for each other's mutexes, seen from outside: without a wrapper, and without stopping
// them. A thread that waits for a mutex sleeps in futex, at the mutex; glibc writes the tid of the holder into it.
#pragma once

#include <sys/types.h>

#include <vector>

#include "base/address.h"

namespace sampan::sampler {

struct MutexWait {
  pid_t waiter;  // a tid
  Avma mutex;
  pid_t holder;  // a tid of the same process; the waiter itself if it has locked the mutex before
};
// A cycle: each waits for a mutex that the next one holds, the last one for one of the first. The lowest tid is first.
using Deadlock = std::vector<MutexWait>;

// The deadlocks of now. Waits that end after a time are none. All of it was read twice, and no thread of a cycle has
// run meanwhile. Mutexes of other C libraries than glibc are not known; nor is a cycle of mutexes that inherit
// priorities, in which the kernel does not let the last thread wait.
std::vector<Deadlock> find_deadlocks(pid_t pid);

}  // namespace sampan::sampler

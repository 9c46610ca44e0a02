// The tasks of asyncio in a process, at one moment, for `sampan dump --tasks`.
//
// Nothing may change while they are read. Threads of the interpreter that run are stopped (ptrace(2)).
// Those that wait are left alone, and what was read counts only if none of them has run meanwhile;
// else it is read again. A thread that waits for a lock and wakes up too often for that is stopped, too.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "sampler/tasks/asyncio_tasks.h"

namespace sampan::sampler {

struct TaskSnapshot {
  AsyncioTasks tasks;
  std::vector<std::string> problems;  // sentences: what is missing, or may be
  uint64_t stopped_ns = 0;            // how long threads were stopped, all attempts together
};

// Throws Refused when the kernel does not permit it, Error when the process is gone or has no interpreter
// that sampan knows.
TaskSnapshot take_task_snapshot(pid_t pid);

}  // namespace sampan::sampler

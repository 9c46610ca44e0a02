// The section .AsyncioDebug, in which asyncio's module of CPython 3.14 and later tells debuggers where its
// tasks are (Modules/_asynciomodule.c, _AsyncioDebug).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace sampan::sampler {

// Offsets in bytes.
struct AsyncioSection {
  // TaskObj
  uint64_t task_name = 0;
  uint64_t task_awaited_by = 0;
  uint64_t task_coroutine = 0;
  uint64_t task_node = 0;  // its place in a list of tasks
  // PyInterpreterState, _PyThreadStateImpl: lists of tasks; of threads that have ended, and of the thread.
  uint64_t interpreter_tasks = 0;
  uint64_t thread_tasks = 0;
  // _PyThreadStateImpl
  uint64_t running_loop = 0;
  uint64_t running_task = 0;
};

// Nothing: the module is not loaded, or has no such section, or states what cannot be.
std::optional<AsyncioSection> find_asyncio_section(pid_t pid);

}  // namespace sampan::sampler

// Where the tasks of asyncio are, in an interpreter of another process that stands still: the
// containers that asyncio itself has them in, and which thread runs which loop and task.
//
//   3.9 to 3.11   _all_tasks of the module asyncio.tasks, a WeakSet
//   3.12, 3.13    _scheduled_tasks, a WeakSet, and _eager_tasks, a set of those that have not waited yet
//   3.14          lists of each thread and of the interpreter (asyncio_section.h); tasks that are not
//                 asyncio's own are in the two sets
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "sampler/process/python_interpreter.h"
#include "sampler/process/python_threads.h"
#include "sampler/recorder/python_objects.h"
#include "sampler/tasks/asyncio_section.h"

namespace sampan::sampler {

struct TaskLists {
  bool has_asyncio = false;
  bool is_torn = false;  // a container was being changed, and some tasks may be missing
  std::unordered_set<uint64_t> tasks;  // maybe also objects that are none, and tasks that are done
  std::unordered_set<uint64_t> current;                   // the tasks that loops run at this moment
  std::unordered_map<uint64_t, PythonThreadState> loops;  // that run, and by which threads
};

TaskLists find_task_lists(PythonObjects& objects, const PythonInterpreter& interpreter,
                          std::span<const PythonThreadState> threads,
                          const std::optional<AsyncioSection>& section);

}  // namespace sampan::sampler

// The output of `sampan dump --tasks`: the tasks of asyncio in a process at one moment, as text and as
// JSON (docs/dump-json.md).
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "remote/live/dump_head.h"
#include "sampler/tasks/task_snapshot.h"

namespace sampan::live {

struct TaskDump {
  DumpHead head;
  sampler::TaskSnapshot snapshot;
  std::vector<std::string> threads;  // the names of those that run loops, by loop; "": none does
};

// Throws Error.
TaskDump take_task_dump(pid_t pid);

std::string tasks_as_text(const TaskDump& dump);
std::string tasks_as_json(const TaskDump& dump);

}  // namespace sampan::live

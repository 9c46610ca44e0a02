// The tasks of asyncio in an interpreter of another process that stands still: what each does, and what
// it waits for. The memory is hostile.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sampler/process/process_pages.h"
#include "sampler/process/python_interpreter.h"
#include "sampler/process/python_threads.h"
#include "sampler/tasks/asyncio_section.h"
#include "sampler/tasks/coroutine_stack.h"

namespace sampan::sampler {

enum class TaskState : uint8_t {
  kRunning,  // its loop runs it
  kReady,    // it waits for nothing but its turn
  kWaiting,
};

struct AsyncioTask {
  uint64_t id;            // of the object: as id() tells in the program
  std::string name;       // empty: it cannot be read
  std::string coroutine;  // the name of its function; empty: not known
  TaskState state;
  std::vector<TaskFrame> frames;  // innermost first
  bool is_cut;                    // not all frames could be read
  size_t loop;                    // into AsyncioTasks::loops
  std::string awaits;             // the type of what it waits for: "Future", "Task"; empty: nothing
  std::vector<size_t> awaited_tasks, awaited_by;  // into AsyncioTasks::tasks
};

struct EventLoop {
  pid_t tid = 0;  // of the thread that runs it; 0: it does not run
  std::string type;
};

struct AsyncioTasks {
  bool has_asyncio = false;        // the program has imported it
  std::vector<EventLoop> loops;    // by tid
  std::vector<AsyncioTask> tasks;  // that are not done; by loop and name
  std::map<std::string, size_t>
      unknown;           // objects that are no tasks that sampan knows, by their type
  size_t not_read = 0;   // tasks, maybe done ones: there was no time for more
  bool is_torn = false;  // some may be missing: the program was just changing their list
};

AsyncioTasks read_asyncio_tasks(ProcessPages& memory, const PythonInterpreter& interpreter,
                                std::span<const PythonThreadState> threads,
                                const std::optional<AsyncioSection>& section);

}  // namespace sampan::sampler

// What a thread's event loop (asyncio) runs at the moment of a sample: a step, which is one callback
// of the loop, and the task that it belongs to.
//
// The frame of Handle._run() has the Handle, the Handle has its callback, and the callback has the
// task, if it is a step of one. A loop without that frame (uvloop), and a task that runs inside
// another one's step (eager tasks), are found by their coroutine: it is the outermost of those on the
// stack, and the C frame that runs it has the task.
//
// CPython 3.14 says itself which task a thread runs. The rest is for older ones, and tells steps apart.
//
// A step is told from the next one by what _run_once() has in its variables: the time at which this
// round of the loop began, and the Handle.
//
// Freestanding: linked into the target; async-signal-safe.
#pragma once

#include <cstdint>

#include "preload/python/code_table.h"
#include "preload/python/python_memory.h"
#include "unwind/asyncio_layout.h"
#include "unwind/python_layout.h"
#include "wire/record.h"
#include "wire/ring.h"

namespace sampan::preload {

// The step in which a thread is, and the tasks that it has announced. All zeroes are valid.
struct LoopStep {
  wire::StepKind kind;                 // of the latest sample
  uint8_t task;                        // the number of its task; 0: none
  uint64_t id;                         // 0: not known
  uint64_t tasks[wire::kTaskNumbers];  // who has the number; 0: nobody
  // The coroutine whose task was looked for in the C stack, and what was found.
  uint64_t sought_coroutine, sought_task;
  uint32_t sought_again;  // samples since then
};

// Collects, from the leaf to the root, what find_step() needs of a stack.
class LoopFrames {
 public:
  LoopFrames(PythonMemory& memory, const unwind::PythonLayout& layout)
      : memory_(memory), layout_(layout), asyncio_(unwind::asyncio_layout(layout.version)) {}

  // A frame with a code object of this kind.
  void add(CodeKind kind, uint64_t frame) {
    if (kind == CodeKind::kHandleRun && handle_run == 0) handle_run = frame;
    if (kind == CodeKind::kLoopRound && handle_run != 0 && run_once == 0) run_once = frame;
    if (kind == CodeKind::kPythonStep && handle_run == 0) in_python_task = true;
  }
  void clear() {
    handle_run = run_once = coroutine = coroutine_cfa = generator_ = generator_cfa_ = 0;
    in_python_task = false;
  }
  // `thread`: the PyThreadState. What the interpreter says of it, if it does.
  void take_running_task(uint64_t thread) {
    running_task = 0;
    if (asyncio_.running_task != 0) memory_.read(thread + asyncio_.running_task, running_task);
  }
  // The frames of one run of the eval loop have been added. `cfa`: of its native frame.
  void end_group(uint64_t first, uint64_t last, uint64_t cfa);

  uint64_t handle_run = 0;  // the innermost
  uint64_t run_once = 0;    // that called it
  bool in_python_task = false;
  uint64_t running_task = 0;  // 0: none, or the interpreter does not say
  // The outermost coroutine of what runs, and where the C stack above its eval loop begins; 0: none.
  uint64_t coroutine = 0;
  uint64_t coroutine_cfa = 0;

 private:
  uint64_t generator_of(uint64_t frame);

  PythonMemory& memory_;
  const unwind::PythonLayout& layout_;
  const unwind::AsyncioLayout& asyncio_;
  uint64_t generator_ = 0, generator_cfa_ = 0;  // of the last frame of the group before
};

// Sets kind, task and id of `step`. A task that has no number gets one, announced in `ring`.
void find_step(PythonMemory& memory, const unwind::PythonLayout& layout, const LoopFrames& frames,
               wire::RingWriter& ring, LoopStep& step);

}  // namespace sampan::preload

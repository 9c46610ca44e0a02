// Where asyncio's tasks, and the coroutines that they run, keep what sampan reads of them, by version:
// offsets in bytes. Each of them was read in an interpreter of that version; what is found there is
// checked by the names of types.
//
// Sources: Modules/_asynciomodule.c, Include/cpython/genobject.h,
// Include/internal/pycore_{frame,interpframe_structs}.h of each version.
//
// Freestanding: linked into the target.
#pragma once

#include <cstdint>

namespace sampan::unwind {

// Where a frame that is suspended says how many values are on its stack. The last of them is what it
// awaits, if it awaits something.
enum class ValueStack : uint8_t {
  kEnd,    // a pointer to their end
  kDepth,  // a number (32 bits), beside a pointer to the first
  kIndex,  // a number, that counts the local variables as well
};

// How a frame that is suspended says that it awaits: `yield from` and `await` are one, `yield` is not.
enum class Delegation : uint8_t {
  kOpcode,    // the next instruction is YIELD_FROM
  kArgument,  // the next instruction, RESUME, says after what
  kState,     // it is a state of its own
};

struct AsyncioLayout {
  uint32_t version;  // as of PythonLayout

  // TaskObj
  uint16_t task_name;       // a string; 3.12 and later: also a number, of "Task-1"
  uint16_t task_coroutine;  // what it waits for stands before it
  uint16_t task_state;      // 32 bits; 0: pending. Also of other futures

  // PyCoroObject, PyGenObject, PyAsyncGenObject
  uint16_t coroutine_name;  // qualified
  // Its frame, which is a part of it; 0: the first member is a pointer to the frame.
  uint16_t coroutine_frame = 0;
  uint16_t coroutine_state = 0;  // a byte. 3.9: whether it runs; 0: the frame has the state

  // _PyInterpreterFrame, PyFrameObject
  uint16_t frame_locals;
  uint16_t frame_owner = 0;  // a byte; 0: frames know their generator (PythonLayout)
  uint16_t frame_state = 0;  // a byte
  ValueStack value_stack;
  uint16_t frame_values = 0;  // a pointer, for ValueStack::kDepth
  uint16_t frame_top;

  Delegation delegation;
  int8_t running = 0;  // the state of a frame that is executed

  uint16_t function_closure = 72;  // PyFunctionObject
  // _PyThreadStateImpl
  uint16_t running_loop = 0;  // that the thread runs; 0: a dictionary has it
  uint16_t running_task = 0;  // 0: a dictionary has those of all loops
};

inline constexpr AsyncioLayout kAsyncioLayouts[] = {
    {.version = 0x0309,
     .task_name = 160,
     .task_coroutine = 152,
     .task_state = 80,
     .coroutine_name = 56,
     .coroutine_state = 24,
     .frame_locals = 360,
     .value_stack = ValueStack::kEnd,
     .frame_top = 72,
     .delegation = Delegation::kOpcode,
     .running = 1,
     .function_closure = 48},
    {.version = 0x030a,
     .task_name = 168,
     .task_coroutine = 160,
     .task_state = 88,
     .coroutine_name = 48,
     .frame_locals = 352,
     .frame_state = 108,
     .value_stack = ValueStack::kDepth,
     .frame_values = 64,
     .frame_top = 80,
     .delegation = Delegation::kOpcode},
    {.version = 0x030b,
     .task_name = 144,
     .task_coroutine = 136,
     .task_state = 88,
     .coroutine_name = 40,
     .coroutine_frame = 80,
     .coroutine_state = 75,
     .frame_locals = 72,
     .frame_owner = 69,
     .value_stack = ValueStack::kIndex,
     .frame_top = 64,
     .delegation = Delegation::kArgument},
    {.version = 0x030c,
     .task_name = 144,
     .task_coroutine = 136,
     .task_state = 88,
     .coroutine_name = 32,
     .coroutine_frame = 72,
     .coroutine_state = 67,
     .frame_locals = 72,
     .frame_owner = 70,
     .value_stack = ValueStack::kIndex,
     .frame_top = 64,
     .delegation = Delegation::kArgument},
    {.version = 0x030d,
     .task_name = 128,
     .task_coroutine = 120,
     .task_state = 96,
     .coroutine_name = 32,
     .coroutine_frame = 72,
     .coroutine_state = 67,
     .frame_locals = 72,
     .frame_owner = 70,
     .value_stack = ValueStack::kIndex,
     .frame_top = 64,
     .delegation = Delegation::kState,
     .running_loop = 304},
    {.version = 0x030e,
     .task_name = 136,
     .task_coroutine = 128,
     .task_state = 104,
     .coroutine_name = 32,
     .coroutine_frame = 72,
     .coroutine_state = 67,
     .frame_locals = 80,
     .frame_owner = 74,
     .value_stack = ValueStack::kEnd,
     .frame_top = 64,
     .delegation = Delegation::kState,
     .running_loop = 864,
     .running_task = 872},
};

// Every version that has a PythonLayout has one.
inline const AsyncioLayout& asyncio_layout(uint32_t version) {
  for (const AsyncioLayout& layout : kAsyncioLayouts) {
    if (layout.version == version) return layout;
  }
  return kAsyncioLayouts[0];
}

}  // namespace sampan::unwind

// The states that a thread has in the interpreters of its process (PyThreadState). While it runs a
// subinterpreter, it has one there and one in the interpreter that runs it.
//
// Until 3.11, PyGILState_GetThisThreadState tells the first state, and the runtime knows the
// innermost one while the thread has the GIL. From 3.12 on the function tells the innermost one. The
// one around it is known to those who wait for the subinterpreter's end, so it is sought on the C
// stack: it is this thread's, and its innermost run of the eval loop is farther up.
//
// Freestanding: linked into the target; async-signal-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/python/python_memory.h"
#include "unwind/python_layout.h"

namespace sampan::preload {

inline constexpr size_t kMostStates = 4;  // of one thread

// The result of the last search. All zeroes are valid.
struct OuterState {
  uint64_t of, state;     // of this state; 0: none was found
  uint32_t sought_again;  // samples since then
};

// The innermost state of the thread whose state is `thread`, as far as the runtime knows it.
uint64_t innermost_state(PythonMemory& memory, const unwind::PythonLayout& layout, uint64_t thread);

// Whether the process has more than one interpreter; false where that is not known.
bool has_subinterpreters(PythonMemory& memory);

// The state around `thread`, whose outermost run of the eval loop has the frame that ends at `cfa`; 0:
// not found.
uint64_t outer_state(PythonMemory& memory, const unwind::PythonLayout& layout, uint64_t thread,
                     uint64_t cfa, OuterState& last);

}  // namespace sampan::preload

// The CPython interpreter of this process, if there is one: its layout, and the state of the calling
// thread in it.
//
// Nothing is called in the interpreter but PyGILState_GetThisThreadState, which reads a thread's
// pthread key and takes no lock. The loader may have to bind what it calls (lazy binding), which is
// nothing for a handler. The interpreter itself makes these calls when it gives a thread its state, so
// before that a thread has none, and the function is not called.
//
// Freestanding: linked into the target.
#pragma once

#include <cstdint>

#include "preload/support/symbol_table.h"
#include "unwind/python_layout.h"
#include "unwind/python_merge.h"

namespace sampan::preload {

// Whether it is in this module: asked of each one, at start-up and when it is loaded.
void find_interpreter(const SymbolTable& module);
// Forgets an interpreter that has been unloaded. No handler may be walking a stack meanwhile.
void forget_unloaded_interpreter();

// For the handler, and pthread_create. Null: no interpreter, none that has given any thread a state, or one that
// sampan does not know (counted).
const unwind::PythonLayout* interpreter_layout();
// Nothing where it is not known (and where the layout does not need it).
using unwind::EvalLoop;
const EvalLoop& interpreter_eval_loop();
// The AVMA of _PyRuntime; 0: not known.
uint64_t interpreter_runtime();
// Zeroes where it is not known.
const unwind::PythonRuntimeLayout& interpreter_runtime_layout();
// The address of PyFloat_Type; 0: not known.
uint64_t interpreter_float_type();
// The PyThreadState of the calling thread; 0: none. Only where there is a layout.
//
// Also 0 while another thread ends the interpreter. In the end that frees the states of the threads that
// are left (daemon threads), and unmaps their frames, although such a thread may run on without the GIL,
// in a C function. At any other time, a thread's frames are unmapped by itself alone, and code objects
// are held by the frames. Whoever ends the interpreter says so first, and then tears down all modules,
// which takes longer than a walk that is under way.
uint64_t interpreter_thread();

}  // namespace sampan::preload

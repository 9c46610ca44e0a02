// Whether a layout is that of the interpreter in this process, by what the interpreter states of
// itself: the members of a code object (all versions), and the offsets that it keeps for debuggers
// (3.13 and later). Nothing is called in it.
//
// Freestanding: linked into the target. Ordinary context.
#pragma once

#include "unwind/python_layout.h"

namespace sampan::preload {

// `code_type`: PyCode_Type. `runtime`: _PyRuntime, or null.
bool is_layout_of(const unwind::PythonLayout& layout, const void* code_type, const void* runtime);
// The layout of the runtime, known or stated by the interpreter; zeroes if what that states cannot be.
unwind::PythonRuntimeLayout runtime_layout_of(const unwind::PythonLayout& layout,
                                              const void* runtime);

}  // namespace sampan::preload

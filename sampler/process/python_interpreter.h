// The CPython in another process: where it is, and its layout. It is found by the symbol `_PyRuntime`
// of the program or a library, and the layout is compared with what it states of itself. The memory is hostile, and
// changes while it is read.
#pragma once

#include <sys/types.h>

#include <optional>

#include "base/address.h"
#include "unwind/python_layout.h"
#include "unwind/python_merge.h"

namespace sampan::sampler {

struct PythonInterpreter {
  bool is_known = false;  // else sampan does not know this version, or this build
  unwind::PythonLayout layout{};
  unwind::PythonRuntimeLayout runtime_layout{};
  unwind::EvalLoop eval_loop{};
  Avma runtime = 0;  // _PyRuntime
};

// Nothing: there is none (yet).
std::optional<PythonInterpreter> find_python(pid_t pid);

}  // namespace sampan::sampler

// Strings of the interpreter, as the code of this folder names them.
//
// Freestanding: linked into the target; async-signal-safe.
#pragma once

#include "unwind/python_text.h"

namespace sampan::preload {

using unwind::find_text;
using unwind::PythonBytes;

}  // namespace sampan::preload

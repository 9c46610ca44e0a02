// The code objects that samples have met, by number. A sample has the number; what it means is
// announced once, in a kPythonCode record of the thread that met it first (wire/record.h).
// unwind/python_code.h says what tells one object from another.
//
// Freestanding: linked into the target; async-signal-safe.
#pragma once

#include <cstdint>

#include "preload/python/python_memory.h"
#include "unwind/python_layout.h"
#include "unwind/python_merge.h"
#include "wire/ring.h"

namespace sampan::preload {

// Ordinary context. False when there is no memory.
bool start_code_table();
// In a forked child, which has rings of its own: everything is announced again.
void code_table_after_fork();

using unwind::CodeKind;
// `number`: of a function of any kind, announced in `ring` if it has to be; 0 when the table is full.
CodeKind find_code(PythonMemory& memory, const unwind::PythonLayout& layout, uint64_t code,
                   wire::RingWriter& ring, uint32_t& number);

}  // namespace sampan::preload

// The code objects that samples have met, by number. A sample has the number; what it means is
// announced once, in a kPythonCode record of the thread that met it first (wire/record.h).
//
// An address is no identity: a program that makes and drops functions puts another one in the same
// place. So an object is known by its address, all that it points to, and the hash of its name: a
// program may free all of that together, and put all of it in the same places again.
//
// Freestanding: linked into the target; async-signal-safe.
#pragma once

#include <cstdint>

#include "preload/python/python_memory.h"
#include "unwind/python_layout.h"
#include "wire/ring.h"

namespace sampan::preload {

// Ordinary context. False when there is no memory.
bool start_code_table();
// In a forked child, which has rings of its own: everything is announced again.
void code_table_after_fork();

enum class CodeKind : uint8_t {
  kFunction,
  kInternal,    // a frame of the interpreter's own, which no program has written
  kUnreadable,  // no code object
};
// `number`: of a function, announced in `ring` if it has to be; 0 when the table is full.
CodeKind find_code(PythonMemory& memory, const unwind::PythonLayout& layout, uint64_t code,
                   wire::RingWriter& ring, uint32_t& number);

}  // namespace sampan::preload

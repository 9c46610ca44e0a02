// How far a function's frame pointer is above its stack pointer while it calls another, read from
// its code: `push %rbp; mov %rsp, %rbp; push ...; sub $SIZE, %rsp`. What the pushes take is what
// its unwind information says is saved there.
//
// A guess: arguments on the stack and variable-length arrays come on top of it, and the bytes of a
// subtraction may be part of another instruction. Encodings: Intel SDM volume 2, "SUB".
#pragma once

#include <cstdint>

#include "attach/remote_memory.h"
#include "unwind/cfi_row.h"

namespace sampan::attach {

// Bytes from rsp to rbp in the function that begins at `start` (AVMA), of which `row` is the rule
// at a call. Frames without a frame pointer, and code that cannot be read, give 0.
uint64_t bytes_below_frame_pointer(RemoteMemory& memory, uint64_t start, const unwind::CfiRow& row);

}  // namespace sampan::attach

// What the code of a function tells a stack walk: the call before a return address, and the distance
// from the stack pointer to the frame pointer.
#pragma once

#include <cstdint>
#include <optional>

#include "sampler/process/remote_memory.h"
#include "unwind/cfi_row.h"

namespace sampan::sampler {

// Tells whether an address is a return address, and what was called.
struct CallBefore {
  uint64_t target;  // AVMA of what is called, through a stub of the PLT too; 0: not known
};

// Nothing when no call ends at `return_address`.
std::optional<CallBefore> call_before(RemoteMemory& memory, uint64_t return_address);

// x86-64: the prologue `push %rbp; mov %rsp, %rbp; push ...; sub $SIZE, %rsp` tells where rbp is at a call;
// the unwind information says how much the pushes take. It is a guess: arguments on the stack and
// variable-length arrays add to it, and the bytes of a subtraction may be part of another
// instruction. AArch64: not known.
//
// Returns the bytes between the two in the function that begins at `start` (AVMA) and has the rule `row` at a
// call. 0 for frames without a frame pointer, and for code that cannot be read.
uint64_t bytes_below_frame_pointer(RemoteMemory& memory, uint64_t start, const unwind::CfiRow& row);

}  // namespace sampan::sampler

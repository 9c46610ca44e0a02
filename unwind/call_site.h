// Whether a word is a return address: code stands there, behind a call. Where no unwind information
// says where the return address is, this tells one from what else lies on a stack, or from where a
// register leads that is no frame pointer.
//
// Freestanding: linked into the target.
#pragma once

#include <cstdint>

#if defined(__aarch64__)
#include "unwind/aarch64/call_site.h"
#else
#include "unwind/x86_64/call_site.h"
#endif

namespace sampan::unwind {

// Memory: bool read_code(uint64_t avma, uint64_t& value), of stack_walk.h. What cannot be read is
// no return address.
template <typename Memory>
bool is_return_address(Memory& memory, uint64_t avma) {
  uint64_t before = 0;
  uint64_t after = 0;
  if (avma < sizeof before || !memory.read_code(avma - sizeof before, before)) return false;
  return call_length(before) != 0 ||
         (memory.read_code(avma, after) && is_pushed_return(before, after));
}

// Whether a return address was planted, and leads to the end of the process.
template <typename Memory>
bool is_planted_end(Memory& memory, uint64_t avma) {
  uint64_t before = 0;
  uint64_t at = 0;
  uint64_t at_8 = 0;
  return avma >= 8 && memory.read_code(avma - 8, before) && memory.read_code(avma, at) &&
         memory.read_code(avma + 8, at_8) && is_exit_call(before, at, at_8);
}

}  // namespace sampan::unwind

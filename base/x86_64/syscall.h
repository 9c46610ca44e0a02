// The system call instruction of x86-64 (System V psABI, A.2.1).
//
// Freestanding: linked into the target.
#pragma once

namespace sampan {

inline long system_call(long number, const long (&values)[6]) {
  register long a4 asm("r10") = values[3];
  register long a5 asm("r8") = values[4];
  register long a6 asm("r9") = values[5];
  long result;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(values[0]), "S"(values[1]), "d"(values[2]), "r"(a4), "r"(a5),
                 "r"(a6)
               : "rcx", "r11", "memory");
  return result;
}

}  // namespace sampan

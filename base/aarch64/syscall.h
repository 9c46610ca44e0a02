// The system call instruction of AArch64 (arch/arm64/kernel/syscall.c).
//
// Freestanding: linked into the target.
#pragma once

namespace sampan {

inline long system_call(long number, const long (&values)[6]) {
  register long call asm("x8") = number;
  register long result asm("x0") = values[0];
  register long a2 asm("x1") = values[1];
  register long a3 asm("x2") = values[2];
  register long a4 asm("x3") = values[3];
  register long a5 asm("x4") = values[4];
  register long a6 asm("x5") = values[5];
  asm volatile("svc #0"
               : "+r"(result)
               : "r"(call), "r"(a2), "r"(a3), "r"(a4), "r"(a5), "r"(a6)
               : "memory");
  return result;
}

}  // namespace sampan

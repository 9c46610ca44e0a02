// System calls without libc: no errno, no cancellation point, no wrapper that a library may have
// interposed. They return the kernel's result: a negative errno on failure.
//
// Freestanding: linked into the target. x86-64.
#pragma once

#include <sys/syscall.h>

namespace sampan {

template <typename... Args>
inline long raw_syscall(long number, Args... args) {
  static_assert(sizeof...(Args) <= 6);
  const long values[6] = {(long)(args)...};
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

// System calls without libc: no errno, no cancellation point, no wrapper that a library may have
// interposed. They return the kernel's result: a negative errno on failure.
//
// Freestanding: linked into the target.
#pragma once

#include <sys/syscall.h>

#if defined(__aarch64__)
#include "base/aarch64/syscall.h"
#else
#include "base/x86_64/syscall.h"
#endif

namespace sampan {

template <typename... Args>
inline long raw_syscall(long number, Args... args) {
  static_assert(sizeof...(Args) <= 6);
  const long values[6] = {(long)(args)...};
  return system_call(number, values);
}

}  // namespace sampan

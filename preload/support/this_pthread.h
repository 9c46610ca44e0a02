// pthread_self() without a call: what glibc's returns on x86-64. Async-signal-safe.
//
// Freestanding: linked into the target.
#pragma once

#include <pthread.h>

namespace sampan::preload {

inline pthread_t this_pthread() {
  pthread_t self;
  asm("mov %%fs:0x10, %0" : "=r"(self));
  return self;
}

}  // namespace sampan::preload

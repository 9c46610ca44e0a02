// The slow ways of the wrappers: what they do around a call of the C library that blocks, or that releases what
// others wait for. Out of line, so that the fast way is a jump.
//
// Freestanding: linked into the target.
#pragma once

#include <errno.h>
#include <time.h>

#include "preload/wrappers/lock_waits.h"

namespace sampan::preload {

// `call` blocks until the thread has the lock.
template <typename Call>
[[gnu::noinline]] int wait_for_lock(const volatile void* lock, wire::LockKind kind,
                                    const void* caller, Call&& call) {
  LockWait wait(lock, kind, caller);
  const int result = call();
  wait.end(result == 0 || result == EOWNERDEAD ? lock : nullptr);
  return result;
}

template <typename Call>
[[gnu::noinline]] int release_lock(const volatile void* lock, LockQuestions::Group group,
                                   const void* caller, Call&& call) {
  LockRelease release(lock, group);
  const int result = call();
  if (result == 0) release.end(caller);
  return result;
}

// `call` releases the mutex, blocks, and gets the mutex again.
template <typename Call>
[[gnu::noinline]] int wait_for_condition(const volatile void* condition, const volatile void* mutex,
                                         const void* caller, Call&& call) {
  LockRelease(mutex, LockQuestions::Group::kLocks).write_if_asked(caller);
  LockWait wait(condition, wire::LockKind::kCondition, caller);
  const int result = call();
  wait.end(mutex);
  return result;
}

// Whether the C library takes this end of a wait. It looks at some of them even if the thread need not wait.
inline bool is_valid(const timespec* end) {
  return end->tv_nsec >= 0 && end->tv_nsec < 1'000'000'000;
}
inline bool is_valid(clockid_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC;
}

}  // namespace sampan::preload

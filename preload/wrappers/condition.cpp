// pthread_cond_* and pthread_barrier_*. The C library has had two kinds of conditions (kConditionVersion): the
// wrappers are for the newer one, which all programs of the last twenty years have.
#include <pthread.h>

#include "preload/support/interpose.h"
#include "preload/support/machine.h"
#include "preload/wrappers/lock_calls.h"
#include "preload/wrappers/lock_origins.h"

#define SAMPAN_NEXT_CONDITION(function) \
  (next_version_like<#function, kConditionVersion>(&::function))

using namespace sampan::preload;

SAMPAN_EXPORT int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  auto* const original = SAMPAN_NEXT_CONDITION(pthread_cond_wait);
  if (!locks_recorded()) return original(condition, mutex);
  return wait_for_condition(condition, mutex, __builtin_return_address(0),
                            [=] { return original(condition, mutex); });
}

SAMPAN_EXPORT int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                         const timespec* end) {
  auto* const original = SAMPAN_NEXT_CONDITION(pthread_cond_timedwait);
  if (!locks_recorded()) return original(condition, mutex, end);
  return wait_for_condition(condition, mutex, __builtin_return_address(0),
                            [=] { return original(condition, mutex, end); });
}

SAMPAN_EXPORT int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                         clockid_t clock, const timespec* end) {
  auto* const original = SAMPAN_NEXT(pthread_cond_clockwait);
  if (original == nullptr) return ENOSYS;
  if (!locks_recorded()) return original(condition, mutex, clock, end);
  return wait_for_condition(condition, mutex, __builtin_return_address(0),
                            [=] { return original(condition, mutex, clock, end); });
}

SAMPAN_EXPORT int pthread_cond_signal(pthread_cond_t* condition) noexcept {
  auto* const original = SAMPAN_NEXT_CONDITION(pthread_cond_signal);
  if (!lock_questions->any(LockQuestions::Group::kConditions)) return original(condition);
  return release_lock(condition, LockQuestions::Group::kConditions, __builtin_return_address(0),
                      [=] { return original(condition); });
}

SAMPAN_EXPORT int pthread_cond_broadcast(pthread_cond_t* condition) noexcept {
  auto* const original = SAMPAN_NEXT_CONDITION(pthread_cond_broadcast);
  if (!lock_questions->any(LockQuestions::Group::kConditions)) return original(condition);
  return release_lock(condition, LockQuestions::Group::kConditions, __builtin_return_address(0),
                      [=] { return original(condition); });
}

SAMPAN_EXPORT int pthread_cond_init(pthread_cond_t* condition,
                                    const pthread_condattr_t* attributes) noexcept {
  if (locks_recorded()) note_lock_origin(condition, __builtin_return_address(0));
  return SAMPAN_NEXT_CONDITION(pthread_cond_init)(condition, attributes);
}

SAMPAN_EXPORT int pthread_cond_destroy(pthread_cond_t* condition) noexcept {
  if (locks_recorded()) forget_lock_origin(condition);
  return SAMPAN_NEXT_CONDITION(pthread_cond_destroy)(condition);
}

// The last thread that arrives ends the waits of the others. Until the call returns, it does not know that it was the
// last; so every arrival takes a number, and that of the last one is the highest that is recorded.
SAMPAN_EXPORT int pthread_barrier_wait(pthread_barrier_t* barrier) noexcept {
  auto* const original = SAMPAN_NEXT(pthread_barrier_wait);
  if (!locks_recorded()) return original(barrier);
  const void* const caller = __builtin_return_address(0);
  LockWait wait(barrier, sampan::wire::LockKind::kBarrier, caller);
  LockRelease arrival(barrier, LockQuestions::Group::kBarriers);
  const int result = original(barrier);
  if (result == PTHREAD_BARRIER_SERIAL_THREAD) {
    wait.cancel();
    arrival.write(caller);
  } else {
    wait.end(nullptr);
  }
  return result;
}

SAMPAN_EXPORT int pthread_barrier_init(pthread_barrier_t* barrier,
                                       const pthread_barrierattr_t* attributes,
                                       unsigned count) noexcept {
  if (locks_recorded()) note_lock_origin(barrier, __builtin_return_address(0));
  return SAMPAN_NEXT(pthread_barrier_init)(barrier, attributes, count);
}

SAMPAN_EXPORT int pthread_barrier_destroy(pthread_barrier_t* barrier) noexcept {
  if (locks_recorded()) forget_lock_origin(barrier);
  return SAMPAN_NEXT(pthread_barrier_destroy)(barrier);
}

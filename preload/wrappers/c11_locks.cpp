// mtx_* and cnd_* of C11, which the C library does not make by calls of the pthread functions. It has them since glibc
// 2.28; for a program that asks an older one, they fail.
#include <threads.h>

#include "preload/support/interpose.h"
#include "preload/wrappers/lock_calls.h"
#include "preload/wrappers/lock_origins.h"

using namespace sampan::preload;
using sampan::wire::LockKind;

// EOWNERDEAD is none of their results.
static_assert(thrd_success == 0 && thrd_timedout < EOWNERDEAD && thrd_nomem < EOWNERDEAD);

SAMPAN_EXPORT int mtx_lock(mtx_t* mutex) {
  auto* const original = SAMPAN_NEXT(mtx_lock);
  auto* const attempt = SAMPAN_NEXT(mtx_trylock);
  if (original == nullptr || attempt == nullptr) return thrd_error;
  if (!locks_recorded()) return original(mutex);
  const int tried = attempt(mutex);
  if (tried != thrd_busy) [[likely]]
    return tried;
  return wait_for_lock(mutex, LockKind::kMutex, __builtin_return_address(0),
                       [=] { return original(mutex); });
}

SAMPAN_EXPORT int mtx_timedlock(mtx_t* mutex, const timespec* end) {
  auto* const original = SAMPAN_NEXT(mtx_timedlock);
  auto* const attempt = SAMPAN_NEXT(mtx_trylock);
  if (original == nullptr || attempt == nullptr) return thrd_error;
  if (!locks_recorded()) return original(mutex, end);
  const int tried = attempt(mutex);
  if (tried != thrd_busy) [[likely]]
    return tried;
  return wait_for_lock(mutex, LockKind::kMutex, __builtin_return_address(0),
                       [=] { return original(mutex, end); });
}

SAMPAN_EXPORT int mtx_unlock(mtx_t* mutex) {
  auto* const original = SAMPAN_NEXT(mtx_unlock);
  if (original == nullptr) return thrd_error;
  if (!LockRelease::concerns(LockQuestions::Group::kLocks)) [[likely]]
    return original(mutex);
  return release_lock(mutex, LockQuestions::Group::kLocks, __builtin_return_address(0),
                      [=] { return original(mutex); });
}

SAMPAN_EXPORT int mtx_init(mtx_t* mutex, int type) {
  auto* const original = SAMPAN_NEXT(mtx_init);
  if (original == nullptr) return thrd_error;
  if (locks_recorded()) note_lock_origin(mutex, __builtin_return_address(0));
  return original(mutex, type);
}

SAMPAN_EXPORT void mtx_destroy(mtx_t* mutex) {
  if (locks_recorded()) forget_lock_origin(mutex);
  if (auto* const original = SAMPAN_NEXT(mtx_destroy)) original(mutex);
}

SAMPAN_EXPORT int cnd_wait(cnd_t* condition, mtx_t* mutex) {
  auto* const original = SAMPAN_NEXT(cnd_wait);
  if (original == nullptr) return thrd_error;
  if (!locks_recorded()) return original(condition, mutex);
  return wait_for_condition(condition, mutex, __builtin_return_address(0),
                            [=] { return original(condition, mutex); });
}

SAMPAN_EXPORT int cnd_timedwait(cnd_t* condition, mtx_t* mutex, const timespec* end) {
  auto* const original = SAMPAN_NEXT(cnd_timedwait);
  if (original == nullptr) return thrd_error;
  if (!locks_recorded()) return original(condition, mutex, end);
  return wait_for_condition(condition, mutex, __builtin_return_address(0),
                            [=] { return original(condition, mutex, end); });
}

SAMPAN_EXPORT int cnd_signal(cnd_t* condition) {
  auto* const original = SAMPAN_NEXT(cnd_signal);
  if (original == nullptr) return thrd_error;
  if (!lock_questions->any(LockQuestions::Group::kConditions)) return original(condition);
  return release_lock(condition, LockQuestions::Group::kConditions, __builtin_return_address(0),
                      [=] { return original(condition); });
}

SAMPAN_EXPORT int cnd_broadcast(cnd_t* condition) {
  auto* const original = SAMPAN_NEXT(cnd_broadcast);
  if (original == nullptr) return thrd_error;
  if (!lock_questions->any(LockQuestions::Group::kConditions)) return original(condition);
  return release_lock(condition, LockQuestions::Group::kConditions, __builtin_return_address(0),
                      [=] { return original(condition); });
}

SAMPAN_EXPORT int cnd_init(cnd_t* condition) {
  auto* const original = SAMPAN_NEXT(cnd_init);
  if (original == nullptr) return thrd_error;
  if (locks_recorded()) note_lock_origin(condition, __builtin_return_address(0));
  return original(condition);
}

SAMPAN_EXPORT void cnd_destroy(cnd_t* condition) {
  if (locks_recorded()) forget_lock_origin(condition);
  if (auto* const original = SAMPAN_NEXT(cnd_destroy)) original(condition);
}

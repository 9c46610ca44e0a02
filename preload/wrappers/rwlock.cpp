// pthread_rwlock_* and pthread_spin_*. The C library looks at the end of a timed wait even if the read-write lock is
// free.
#include <pthread.h>

#include "preload/support/interpose.h"
#include "preload/wrappers/lock_calls.h"
#include "preload/wrappers/lock_origins.h"

using namespace sampan::preload;
using sampan::wire::LockKind;

SAMPAN_EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept {
  auto* const original = SAMPAN_NEXT(pthread_rwlock_rdlock);
  if (!locks_recorded()) return original(lock);
  const int tried = SAMPAN_NEXT(pthread_rwlock_tryrdlock)(lock);
  if (tried != EBUSY) [[likely]]
    return tried;
  return wait_for_lock(lock, LockKind::kReadLock, __builtin_return_address(0),
                       [=] { return original(lock); });
}

SAMPAN_EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept {
  auto* const original = SAMPAN_NEXT(pthread_rwlock_wrlock);
  if (!locks_recorded()) return original(lock);
  const int tried = SAMPAN_NEXT(pthread_rwlock_trywrlock)(lock);
  if (tried != EBUSY) [[likely]]
    return tried;
  return wait_for_lock(lock, LockKind::kWriteLock, __builtin_return_address(0),
                       [=] { return original(lock); });
}

SAMPAN_EXPORT int pthread_rwlock_timedrdlock(pthread_rwlock_t* lock, const timespec* end) noexcept {
  auto* const original = SAMPAN_NEXT(pthread_rwlock_timedrdlock);
  if (!locks_recorded() || !is_valid(end)) return original(lock, end);
  const int tried = SAMPAN_NEXT(pthread_rwlock_tryrdlock)(lock);
  if (tried != EBUSY) [[likely]]
    return tried;
  return wait_for_lock(lock, LockKind::kReadLock, __builtin_return_address(0),
                       [=] { return original(lock, end); });
}

SAMPAN_EXPORT int pthread_rwlock_timedwrlock(pthread_rwlock_t* lock, const timespec* end) noexcept {
  auto* const original = SAMPAN_NEXT(pthread_rwlock_timedwrlock);
  if (!locks_recorded() || !is_valid(end)) return original(lock, end);
  const int tried = SAMPAN_NEXT(pthread_rwlock_trywrlock)(lock);
  if (tried != EBUSY) [[likely]]
    return tried;
  return wait_for_lock(lock, LockKind::kWriteLock, __builtin_return_address(0),
                       [=] { return original(lock, end); });
}

SAMPAN_EXPORT int pthread_rwlock_clockrdlock(pthread_rwlock_t* lock, clockid_t clock,
                                             const timespec* end) noexcept {
  auto* const original = SAMPAN_NEXT(pthread_rwlock_clockrdlock);
  if (original == nullptr) return ENOSYS;
  if (!locks_recorded() || !is_valid(clock) || !is_valid(end)) return original(lock, clock, end);
  const int tried = SAMPAN_NEXT(pthread_rwlock_tryrdlock)(lock);
  if (tried != EBUSY) [[likely]]
    return tried;
  return wait_for_lock(lock, LockKind::kReadLock, __builtin_return_address(0),
                       [=] { return original(lock, clock, end); });
}

SAMPAN_EXPORT int pthread_rwlock_clockwrlock(pthread_rwlock_t* lock, clockid_t clock,
                                             const timespec* end) noexcept {
  auto* const original = SAMPAN_NEXT(pthread_rwlock_clockwrlock);
  if (original == nullptr) return ENOSYS;
  if (!locks_recorded() || !is_valid(clock) || !is_valid(end)) return original(lock, clock, end);
  const int tried = SAMPAN_NEXT(pthread_rwlock_trywrlock)(lock);
  if (tried != EBUSY) [[likely]]
    return tried;
  return wait_for_lock(lock, LockKind::kWriteLock, __builtin_return_address(0),
                       [=] { return original(lock, clock, end); });
}

SAMPAN_EXPORT int pthread_rwlock_unlock(pthread_rwlock_t* lock) noexcept {
  auto* const original = SAMPAN_NEXT(pthread_rwlock_unlock);
  if (!LockRelease::concerns(LockQuestions::Group::kLocks)) [[likely]]
    return original(lock);
  return release_lock(lock, LockQuestions::Group::kLocks, __builtin_return_address(0),
                      [=] { return original(lock); });
}

SAMPAN_EXPORT int pthread_rwlock_init(pthread_rwlock_t* lock,
                                      const pthread_rwlockattr_t* attributes) noexcept {
  if (locks_recorded()) note_lock_origin(lock, __builtin_return_address(0));
  return SAMPAN_NEXT(pthread_rwlock_init)(lock, attributes);
}

SAMPAN_EXPORT int pthread_rwlock_destroy(pthread_rwlock_t* lock) noexcept {
  if (locks_recorded()) forget_lock_origin(lock);
  return SAMPAN_NEXT(pthread_rwlock_destroy)(lock);
}

SAMPAN_EXPORT int pthread_spin_lock(pthread_spinlock_t* lock) noexcept {
  auto* const original = SAMPAN_NEXT(pthread_spin_lock);
  if (!locks_recorded()) return original(lock);
  const int tried = SAMPAN_NEXT(pthread_spin_trylock)(lock);
  if (tried != EBUSY) [[likely]]
    return tried;
  return wait_for_lock(lock, LockKind::kSpinLock, __builtin_return_address(0),
                       [=] { return original(lock); });
}

SAMPAN_EXPORT int pthread_spin_unlock(pthread_spinlock_t* lock) noexcept {
  auto* const original = SAMPAN_NEXT(pthread_spin_unlock);
  if (!LockRelease::concerns(LockQuestions::Group::kLocks)) [[likely]]
    return original(lock);
  return release_lock(lock, LockQuestions::Group::kLocks, __builtin_return_address(0),
                      [=] { return original(lock); });
}

SAMPAN_EXPORT int pthread_spin_init(pthread_spinlock_t* lock, int shared) noexcept {
  if (locks_recorded()) note_lock_origin(lock, __builtin_return_address(0));
  return SAMPAN_NEXT(pthread_spin_init)(lock, shared);
}

SAMPAN_EXPORT int pthread_spin_destroy(pthread_spinlock_t* lock) noexcept {
  if (locks_recorded()) forget_lock_origin(lock);
  return SAMPAN_NEXT(pthread_spin_destroy)(lock);
}

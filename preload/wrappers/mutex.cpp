// pthread_mutex_*, of all kinds. To try first changes nothing: whatever a mutex answers but that it is busy, the call
// that blocks would answer, too. But glibc's pthread_mutex_trylock leaves a robust mutex locked that is not recoverable.
// So of robust mutexes it is only seen whether they are free. The same is enough while the process has one thread; then
// glibc's pthread_mutex_lock is faster than pthread_mutex_trylock.
#include <linux/futex.h>
#include <pthread.h>

#include "preload/support/interpose.h"
#include "preload/wrappers/lock_calls.h"
#include "preload/wrappers/lock_origins.h"

using namespace sampan::preload;
using sampan::wire::LockKind;

namespace {

constexpr int kRobust = 16;  // of the kind: PTHREAD_MUTEX_ROBUST_NORMAL_NP in glibc's pthreadP.h

// EBUSY if the thread has to wait; else the result of the call that gets the mutex.
template <typename Call>
[[gnu::always_inline]] inline int get_at_once(pthread_mutex_t* mutex, Call&& call) {
  const int kind = __atomic_load_n(&mutex->__data.__kind, __ATOMIC_RELAXED);
  if (*single_threaded == 0 && (kind & kRobust) == 0) [[likely]] {
    return SAMPAN_NEXT(pthread_mutex_trylock)(mutex);
  }
  const auto lock = static_cast<unsigned>(__atomic_load_n(&mutex->__data.__lock, __ATOMIC_RELAXED));
  return (lock & FUTEX_TID_MASK) == 0 ? call() : EBUSY;
}

}  // namespace

SAMPAN_EXPORT int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  auto* const original = SAMPAN_NEXT(pthread_mutex_lock);
  if (!locks_recorded()) return original(mutex);
  const auto call = [=] { return original(mutex); };
  const int result = get_at_once(mutex, call);
  if (result != EBUSY) [[likely]]
    return result;
  return wait_for_lock(mutex, LockKind::kMutex, __builtin_return_address(0), call);
}

SAMPAN_EXPORT int pthread_mutex_timedlock(pthread_mutex_t* mutex, const timespec* end) noexcept {
  auto* const original = SAMPAN_NEXT(pthread_mutex_timedlock);
  if (!locks_recorded()) return original(mutex, end);
  const auto call = [=] { return original(mutex, end); };
  const int result = get_at_once(mutex, call);
  if (result != EBUSY) [[likely]]
    return result;
  return wait_for_lock(mutex, LockKind::kMutex, __builtin_return_address(0), call);
}

SAMPAN_EXPORT int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock,
                                          const timespec* end) noexcept {
  auto* const original = SAMPAN_NEXT(pthread_mutex_clocklock);
  if (original == nullptr) return ENOSYS;
  if (!locks_recorded() || !is_valid(clock)) return original(mutex, clock, end);
  const auto call = [=] { return original(mutex, clock, end); };
  const int result = get_at_once(mutex, call);
  if (result != EBUSY) [[likely]]
    return result;
  return wait_for_lock(mutex, LockKind::kMutex, __builtin_return_address(0), call);
}

SAMPAN_EXPORT int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  auto* const original = SAMPAN_NEXT(pthread_mutex_unlock);
  if (!LockRelease::concerns(LockQuestions::Group::kLocks)) [[likely]]
    return original(mutex);
  return release_lock(mutex, LockQuestions::Group::kLocks, __builtin_return_address(0),
                      [=] { return original(mutex); });
}

SAMPAN_EXPORT int pthread_mutex_init(pthread_mutex_t* mutex,
                                     const pthread_mutexattr_t* attributes) noexcept {
  if (locks_recorded()) note_lock_origin(mutex, __builtin_return_address(0));
  return SAMPAN_NEXT(pthread_mutex_init)(mutex, attributes);
}

SAMPAN_EXPORT int pthread_mutex_destroy(pthread_mutex_t* mutex) noexcept {
  if (locks_recorded()) forget_lock_origin(mutex);
  return SAMPAN_NEXT(pthread_mutex_destroy)(mutex);
}

// sem_*. A wait is a point of cancellation even if the semaphore is free, and errno is changed by a failure only.
#include <pthread.h>
#include <semaphore.h>

#include "preload/interposers/blocking_calls.h"
#include "preload/support/interpose.h"
#include "preload/wrappers/lock_calls.h"
#include "preload/wrappers/lock_origins.h"

using namespace sampan::preload;

namespace {

bool got_at_once(sem_t* semaphore) {
  SAMPAN_NEXT(pthread_testcancel)();
  const int saved_errno = errno;
  if (SAMPAN_NEXT(sem_trywait)(semaphore) == 0) return true;
  errno = saved_errno;
  return false;
}

template <typename Call>
int wait_for_semaphore(sem_t* semaphore, const void* caller, Call&& call) {
  return wait_for_lock(semaphore, sampan::wire::LockKind::kSemaphore, caller, call);
}

}  // namespace

SAMPAN_EXPORT int sem_wait(sem_t* semaphore) {
  auto* const original = SAMPAN_NEXT(sem_wait);
  if (!locks_recorded()) return original(semaphore);
  if (got_at_once(semaphore)) return 0;
  return wait_for_semaphore(semaphore, __builtin_return_address(0),
                            [=] { return original(semaphore); });
}

SAMPAN_EXPORT int sem_timedwait(sem_t* semaphore, const timespec* end) {
  auto* const original = SAMPAN_NEXT(sem_timedwait);
  const auto call = [=] {
    const Blocking blocking;
    return original(semaphore, end);
  };
  if (!locks_recorded() || !is_valid(end)) return call();
  if (got_at_once(semaphore)) return 0;
  return wait_for_semaphore(semaphore, __builtin_return_address(0), call);
}

SAMPAN_EXPORT int sem_clockwait(sem_t* semaphore, clockid_t clock, const timespec* end) {
  auto* const original = SAMPAN_NEXT(sem_clockwait);
  if (original == nullptr) {
    errno = ENOSYS;
    return -1;
  }
  const auto call = [=] {
    const Blocking blocking;
    return original(semaphore, clock, end);
  };
  if (!locks_recorded() || !is_valid(clock) || !is_valid(end)) return call();
  if (got_at_once(semaphore)) return 0;
  return wait_for_semaphore(semaphore, __builtin_return_address(0), call);
}

SAMPAN_EXPORT int sem_post(sem_t* semaphore) noexcept {
  auto* const original = SAMPAN_NEXT(sem_post);
  if (!LockRelease::concerns(LockQuestions::Group::kSemaphores)) [[likely]] {
    return original(semaphore);
  }
  return release_lock(semaphore, LockQuestions::Group::kSemaphores, __builtin_return_address(0),
                      [=] { return original(semaphore); });
}

SAMPAN_EXPORT int sem_init(sem_t* semaphore, int shared, unsigned value) noexcept {
  if (locks_recorded()) note_lock_origin(semaphore, __builtin_return_address(0));
  return SAMPAN_NEXT(sem_init)(semaphore, shared, value);
}

SAMPAN_EXPORT int sem_destroy(sem_t* semaphore) noexcept {
  if (locks_recorded()) forget_lock_origin(semaphore);
  return SAMPAN_NEXT(sem_destroy)(semaphore);
}

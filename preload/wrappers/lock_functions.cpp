// Where the wrappers of locks begin: the originals are looked up, for signal handlers of the program may need some.
#include <pthread.h>
#include <semaphore.h>
#include <threads.h>

#include "preload/support/interpose.h"
#include "preload/support/machine.h"
#include "preload/wrappers/lock_waits.h"

namespace sampan::preload {
namespace {

#define SAMPAN_NEXT_CONDITION(function) \
  (next_version_like<#function, kConditionVersion>(&::function))

// Without one of them, no locks are recorded: in a program that a C library before glibc 2.34 has not given its threads
// yet.
bool look_up_needed() {
  return SAMPAN_NEXT(pthread_mutex_lock) != nullptr &&
         SAMPAN_NEXT(pthread_mutex_trylock) != nullptr &&
         SAMPAN_NEXT(pthread_mutex_unlock) != nullptr &&
         SAMPAN_NEXT(pthread_rwlock_rdlock) != nullptr &&
         SAMPAN_NEXT(pthread_rwlock_tryrdlock) != nullptr &&
         SAMPAN_NEXT(pthread_rwlock_wrlock) != nullptr &&
         SAMPAN_NEXT(pthread_rwlock_trywrlock) != nullptr &&
         SAMPAN_NEXT(pthread_rwlock_unlock) != nullptr &&
         SAMPAN_NEXT(pthread_spin_lock) != nullptr &&
         SAMPAN_NEXT(pthread_spin_trylock) != nullptr &&
         SAMPAN_NEXT(pthread_spin_unlock) != nullptr &&
         SAMPAN_NEXT(pthread_barrier_wait) != nullptr &&
         SAMPAN_NEXT(pthread_testcancel) != nullptr && SAMPAN_NEXT(sem_wait) != nullptr &&
         SAMPAN_NEXT(sem_trywait) != nullptr && SAMPAN_NEXT(sem_timedwait) != nullptr &&
         SAMPAN_NEXT(sem_post) != nullptr && SAMPAN_NEXT_CONDITION(pthread_cond_wait) != nullptr &&
         SAMPAN_NEXT_CONDITION(pthread_cond_timedwait) != nullptr &&
         SAMPAN_NEXT_CONDITION(pthread_cond_signal) != nullptr &&
         SAMPAN_NEXT_CONDITION(pthread_cond_broadcast) != nullptr;
}

}  // namespace

void start_lock_functions() {
  if (look_up_needed()) start_lock_waits();
}

void end_wrappers_in(ThreadState& thread) {
  if (locks_recorded()) end_lock_waits(thread);
}

}  // namespace sampan::preload

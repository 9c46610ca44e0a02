// Where locks were initialised: the code that called pthread_mutex_init and its like (kLockOrigin of wire/record.h).
// It is told with the first wait for the lock, so locks for which nobody waits cost no record.
//
// A table of fixed size, by the lock's address: a newer lock takes the place of an older one, of which the origin is
// not known then. Lock-free. Freestanding: linked into the target.
#pragma once

#include <cstdint>

namespace sampan::preload {

// `caller`: the return address into the code that called the wrapper.
void note_lock_origin(const volatile void* lock, const void* caller);
// The lock was destroyed.
void forget_lock_origin(const volatile void* lock);

// The lookup AVMA of the code that initialised the lock, if it is known and was not taken before; else 0.
uint64_t take_lock_origin(uint64_t lock);
// What was taken could not be recorded.
void give_back_lock_origin(uint64_t lock);
// In a forked child: its recording knows no origins.
void lock_origins_after_fork();

}  // namespace sampan::preload

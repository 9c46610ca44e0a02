// Which file is mapped where: told to the collector at start, and whenever the loader has changed
// it.
//
// Ordinary context. Freestanding: linked into the target.
#pragma once

namespace sampan::preload {

// False when there is no memory for the list.
bool start_modules();

// Records the modules that are new and those that are gone. Cheap when nothing has changed. While
// another thread is at it, that thread does it once more.
void renew_modules();

// Around fork, so that the child finds the list whole. False when the lock could not be had.
bool lock_modules();
// In the parent. Also renews the list if another thread asked for that meanwhile.
void unlock_modules();
// In the child, in place of unlock_modules: writes all modules into its new ring. What another
// thread was loading is recorded by the next renew_modules: the loader's lock may be held for ever.
void modules_after_fork();

// In a forked child: ends the unloading (dlclose) of threads that do not exist there.
void unloading_after_fork();

}  // namespace sampan::preload

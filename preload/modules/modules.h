// What is mapped from which file: told to the collector at start, and whenever the loader has
// changed it.
//
// Ordinary context. Freestanding: linked into the target.
#pragma once

namespace sampan::preload {

// False when there is no memory for the list.
bool start_modules();

// Writes the modules that are new and those that are gone. Cheap when nothing has changed.
void renew_modules();

// Around fork, so that the child finds the list whole. False when it was not to be had.
bool lock_modules();
void unlock_modules();
// In the child, still locked: all modules are news to its new ring.
void modules_after_fork();

}  // namespace sampan::preload

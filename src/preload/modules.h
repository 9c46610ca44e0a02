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
// After fork: all modules are news to the child's new ring.
void modules_after_fork();

}  // namespace sampan::preload

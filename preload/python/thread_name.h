// The name that Python gives to a thread: threading.Thread(name=...). Until CPython 3.14, the system
// does not hear of it, and all threads are called "python3".
//
// The thread that calls pthread_create stands in Thread.start(), whose `self` is the Thread. The
// frame and the object stay as they are meanwhile, because the interpreter holds its lock. Nothing
// is called in the interpreter. Every page is probed, so whatever is there costs a name at most.
//
// Freestanding: linked into the target. Ordinary context.
#pragma once

#include <span>

namespace sampan::preload {

// In pthread_create: the name of the Thread that is being started, in UTF-8, cut to the buffer and
// zero-terminated. "" where there is none.
void name_of_new_thread(std::span<char> name);

}  // namespace sampan::preload

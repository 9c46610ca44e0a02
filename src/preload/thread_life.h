// A thread's beginning and end, as seen by the thread itself.
//
// Ordinary context. Freestanding: linked into the target.
#pragma once

#include "preload/threads.h"

namespace sampan::preload {

// Makes the key by whose destructor threads tell their end.
bool start_thread_life();

// The main thread, in the constructor: it was not made by pthread_create.
void begin_main_thread();

// The calling thread has nothing left to do.
void end_this_thread(ThreadState& thread);

}  // namespace sampan::preload

// The ordinary ends of a process: exit, quick_exit, _exit. After a signal nothing needs to be done,
// the rings survive.
//
// Freestanding: linked into the target.
#pragma once

namespace sampan::preload {

// Asks to be told when the program calls exit or returns from main.
void start_exit();

// What is to be known of the threads that are alive when the image ends: their modules and CPU.
void record_live_threads();

}  // namespace sampan::preload

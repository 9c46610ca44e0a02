// fork and its relatives, after which the child joins the session on its own; and the ordinary ends
// of a process: exit, quick_exit, _exit. Nothing needs to be done after a signal: the rings survive.
//
// Freestanding: linked into the target.
#pragma once

namespace sampan::preload {

// Registers what is done around fork(). False when that fails.
bool start_fork();
// Registers what is done when the program calls exit or returns from main.
void start_exit();

// When the image ends: records the threads that are alive and the CPU that they have used.
void record_live_threads();

}  // namespace sampan::preload

// The storms of storm.cpp. Each runs until keep_on() is false, checks every result, and ends the
// process with a sentence if one is wrong.
#pragma once

#include <atomic>

namespace storm {

extern std::atomic<bool> stop;
inline bool keep_on() {
  return !stop.load(std::memory_order_relaxed);
}

// Ends the process with exit status 1 if `right` is false.
void check(bool right, const char* what);

extern const char* library;  // path of library.cpp's library

void load();       // dlopen and dlclose
void throw_up();   // exceptions through many frames
void allocate();   // malloc, realloc, free
void create();     // threads that live shortly
void fork_off();   // fork
void spawn();      // posix_spawn
void swap();       // swapcontext between fibers of 16 KB
void interrupt();  // handlers on alternate stacks of 8 KB

}  // namespace storm

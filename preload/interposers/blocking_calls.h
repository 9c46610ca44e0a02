// Calls that block, and that a signal cuts short whatever SA_RESTART says: they return EINTR, or less than was asked for. The
// drummer is told to keep away from a thread that is in one (wire/drum.h). The other clocks send no signal there, so nothing is
// done for them.
//
// Freestanding: linked into the target.
#pragma once

#include "preload/threads/threads.h"

namespace sampan::preload {

// At start-up: looks up the originals. Signal handlers of the program may call them.
void look_up_blocking_calls();

// While one exists, the drummer sends nothing to the thread.
class Blocking {
 public:
  Blocking() {
    if (drum_clock::in_use()) enter();
  }
  ~Blocking() {
    if (thread_ != nullptr) leave();
  }
  Blocking(const Blocking&) = delete;
  Blocking& operator=(const Blocking&) = delete;

 private:
  void enter();
  void leave();

  const ThreadState* thread_ = nullptr;
  uint32_t before_ = 0;
};

// A jump out of a signal handler leaves the call that the signal has interrupted.
void leave_blocking_calls();

// Whether this system call is one of them, for syscall().
bool is_blocking_call(long number);

}  // namespace sampan::preload

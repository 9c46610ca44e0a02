// The threads of this process: which have a slot, which are armed.
//
// A thread is known by its tid, through a table: thread-local storage would be shared by the
// threads that raw clone() makes. Reading the table is async-signal-safe and lock-free.
//
// Freestanding: linked into the target.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "preload/sampling_signal.h"
#include "unwind/walker.h"
#include "wire/ring.h"

namespace sampan::preload {

struct ThreadState {
  std::atomic<int32_t> tid;  // 0: slot is free
  uint32_t slot;
  std::atomic<bool> busy;     // a record is being written, or a stack walked, by this thread
  std::atomic<bool> walking;  // a module may be read: see modules.h
  bool started;               // kThreadStart is in the ring
  int timer;                  // kernel timer id, -1: none
  int perf_fd;                // -1: none
  uint64_t last_cpu_ns;
  unwind::StackBounds stack;
  wire::RingWriter ring;
  std::span<uint64_t> frames;    // the stack being walked
  std::span<uint64_t> previous;  // the stack recorded last, previous_depth of it
  uint32_t previous_depth;
  uint32_t samples_since_full;
  SignalState signals;
};

// The state of the calling thread; null when it has none. Async-signal-safe.
ThreadState* current_thread();
// The state by slot, e.g. from a cookie; null when the index is out of range or the slot free.
ThreadState* thread_in_slot(uint32_t slot);
// All threads that have a slot. Threads may come and go meanwhile.
template <typename F>
void for_each_thread(F&& each);

// Disarms all threads' clocks and arms them again, with the sampling signal as it is now.
void rearm_all_threads();

}  // namespace sampan::preload

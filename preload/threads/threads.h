// The threads of this process: which have a slot, which are armed.
//
// A thread is known by its tid, through a table: thread-local storage would be shared by the
// threads that raw clone() makes. Reading the table is async-signal-safe and lock-free.
//
// Freestanding: linked into the target.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "preload/marker_thread.h"
#include "preload/sampling_signal.h"
#include "preload/spin_lock.h"
#include "unwind/walker.h"
#include "wire/ring.h"

namespace sampan::preload {

struct ThreadState {
  int32_t tid;
  uint32_t slot;
  pthread_t pthread;           // 0: not made by pthread_create, and not the main thread
  std::atomic<bool> busy;      // a record is being written, or a stack walked, by this thread
  std::atomic<bool> walking;   // a module may be read: see modules.h
  unsigned destructor_rounds;  // of the key that tells the thread's end
  SpinLock clock_lock;         // held while the clock is armed or disarmed
  int timer;                   // kernel timer id, -1: none
  void* perf_page;             // the mapping that keeps the perf event alive, null: none
  uint32_t rate_hz;            // that the clock was armed with, 0: not yet
  std::atomic<uint64_t> last_cpu_ns;    // at the last sample, or tick without one
  uint64_t left_out_ns;                 // CPU since the last sample in which sampling was off
  std::atomic<uint32_t> open_sections;  // of this thread alone
  unwind::StackBounds stack;
  wire::RingWriter ring;
  std::span<uint64_t> frames;    // the stack being walked
  std::span<uint64_t> previous;  // the stack recorded last, previous_depth of it
  uint32_t previous_depth;
  uint32_t samples_since_full;
  SignalState signals;
  MarkerState markers;
  uint64_t inherited_hidden;           // hidden_signals_for of the creator
  std::span<uint8_t> alternate_stack;  // ours, for this slot
  void* (*entry)(void*);               // what pthread_create was given
  void* argument;
  size_t stack_size;  // asked for, 0: not known
};

// The state of the calling thread; null when it has none. Async-signal-safe.
ThreadState* current_thread();
// The state by slot, e.g. from a cookie; null when the index is out of range or the slot free.
ThreadState* thread_in_slot(uint32_t slot);
// The state by tid or by pthread_t; null when there is none.
ThreadState* thread_by_tid(int32_t tid);
ThreadState* thread_by_pthread(pthread_t pthread);
// A thread is alive that pthread_create did not make: it may have the thread-local storage of
// another.
inline std::atomic<uint32_t> foreign_threads;
inline bool threads_may_share_storage() {
  return foreign_threads.load(std::memory_order_relaxed) != 0;
}
// Slots from here on have never been used.
uint32_t slots_used();

// All threads that have a slot. Threads may come and go meanwhile.
template <typename F>
void for_each_thread(F&& each) {
  for (uint32_t slot = 0; slot < slots_used(); ++slot) {
    if (ThreadState* thread = thread_in_slot(slot)) each(*thread);
  }
}

// Disarms all threads' clocks and arms them again, with the sampling signal as it is now.
void rearm_all_threads();

// A slot for a thread that is about to begin, not yet visible to the functions above; null when
// all are in use (counted).
ThreadState* claim_slot();
void release_slot(ThreadState& thread);
// Writes kThreadStart, makes the thread visible and arms its clock. `cpu_ns`: what it has used and
// is not to be counted. `name`: null for that of the calling thread, which a thread has or
// inherits. Async-signal-safe.
void begin_thread(ThreadState& thread, int32_t tid, uint64_t cpu_ns, const char* name = nullptr);
// Disarms the clock, writes kThreadEnd and frees the slot, if it is still that of `tid`. By the
// thread itself with the sampling signal blocked for good, or by another one when the thread is
// known to be gone (cpu_ns 0).
void end_thread(ThreadState& thread, int32_t tid, uint64_t cpu_ns);

// The CPU time that is accounted for: of each thread, dead or alive, what it had used at its last
// sample. What the process has used beyond it, threads have used that we do not know.
uint64_t explained_cpu_ns();

// In a forked child: forgets all threads but the calling one, which keeps its slot. Returns whether
// there were others.
bool keep_only(ThreadState* survivor);

}  // namespace sampan::preload

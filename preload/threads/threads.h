// The threads of this process: the slots, who has which, and what is known of each thread.
//
// A thread is known by its tid, through a table: thread-local storage would be shared by threads
// that raw clone() makes. Reading the table is async-signal-safe and lock-free.
//
// Freestanding: linked into the target.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "preload/clocks/clock.h"
#include "preload/markers/marker_thread.h"
#include "preload/samples/sample.h"
#include "preload/signals/sampling_signal.h"
#include "wire/record.h"

namespace sampan::preload {

// What pthread_create was given, for the new thread.
struct ThreadStart {
  void* (*entry)(void*);
  void* argument;
  size_t stack_size;               // requested; 0: unknown
  uint64_t inherited_hidden;       // SignalState::hidden of the creator
  char name[wire::kLongNameSize];  // that Python gives to the thread; "": none
};

struct ThreadState {
  int32_t tid;
  uint32_t slot;
  pthread_t pthread;       // 0: neither the main thread nor made by pthread_create
  std::atomic<bool> busy;  // the thread is walking its stack or writing a record
  ClockState clock;
  SampleState samples;
  SignalState signals;
  std::span<uint8_t> alternate_stack;  // ours, for this slot
  ThreadStart start;
  unsigned destructor_rounds;  // of the key that tells the thread's end
  bool dispatched;             // by PR_SET_SYSCALL_USER_DISPATCH, now
  bool was_dispatched;         // is counted as such
  bool has_ended;              // its end is recorded, though the slot may stay taken
  MarkerState markers;
};

// At start-up, before anything else here. False when there is no memory.
bool start_threads();

// The state of the calling thread; null when it has none. Async-signal-safe.
ThreadState* current_thread();
// The state by slot, e.g. from a cookie; null when the slot is free or out of range.
ThreadState* thread_in_slot(uint32_t slot);
// The state by tid or by pthread_t; null when there is none.
ThreadState* thread_by_tid(int32_t tid);
ThreadState* thread_by_pthread(pthread_t pthread);
// Slots from this one on have never been used.
uint32_t slots_used();

// The signals of the calling thread; null when it has no slot.
inline SignalState* current_signals() {
  ThreadState* thread = current_thread();
  return thread != nullptr ? &thread->signals : nullptr;
}

// Calls `each` for all threads that have a slot. Threads may come and go meanwhile.
template <typename F>
void for_each_thread(F&& each) {
  for (uint32_t slot = 0; slot < slots_used(); ++slot) {
    if (ThreadState* thread = thread_in_slot(slot)) each(*thread);
  }
}

// Disarms the clocks of all threads and arms them again, with the sampling signal as it is now.
void rearm_all_threads();
void disarm_all_threads();
// Whether the kernel still has our action for the sampling signal. If not, the program has taken the
// signal by a system call that nothing has seen, and no thread's clock stays armed (counted).
// Async-signal-safe.
bool keeps_sampling_signal();

// A slot for a thread that is about to begin, not yet visible to the functions above; null when
// all are in use (counted).
ThreadState* claim_slot();
void release_slot(ThreadState& thread);
// Writes kThreadStart, makes the thread visible and arms its clock. `cpu_ns`: what it has used and
// is not to be counted. `name`: null for the calling thread's. Async-signal-safe.
void begin_thread(ThreadState& thread, int32_t tid, uint64_t cpu_ns, const char* name = nullptr);
// Disarms the clock, writes kThreadEnd and frees the slot, if it is still that of `tid`. Called by
// the thread itself with the sampling signal blocked for good, or by another thread when this one is
// known to have ended (cpu_ns 0).
void end_thread(ThreadState& thread, int32_t tid, uint64_t cpu_ns);

// The CPU time that is accounted for: for each thread, alive or ended, what it had used at its last
// sample. What the process has used beyond that was used by threads that are not known.
uint64_t explained_cpu_ns();

// In a forked child: forgets all threads but the calling one, which keeps its slot. Returns whether
// there were others.
bool keep_only(ThreadState* survivor);

// thread_life.cpp: a thread's beginning, names and end, as the interposers see them. Ordinary context.

// Makes the key whose destructor tells the end of a thread. False when there is none.
bool start_thread_life();

// For the main thread, in the shim's constructor: pthread_create did not make it.
void begin_main_thread();

// The calling thread's state, found without a system call; null before its beginning, after its end, and for threads that
// pthread_create did not make. In a vfork child, its parent's.
ThreadState* begun_thread();

// The kernel has a new name for the thread.
void rename_thread(const ThreadState& thread, const char* name);

// The calling thread has nothing left to do.
void end_this_thread(ThreadState& thread);

// In libsampan_wrappers.so; null in the shim alone. In the constructor, whether the session is joined or not; when a
// thread, or its process, is about to end.
[[gnu::weak]] void start_wrappers();
[[gnu::weak]] void end_wrappers_in(ThreadState& thread);

// scan.cpp: finds threads that no interposer has seen, those that existed before the shim and those
// that raw clone() made, and finds that such threads have ended. By system calls only, so it may run
// in the handler.

// Reads /proc/self/task. Does nothing while another thread does it.
void scan_threads();
// The same, at most every 100 ms, and only when the process has used CPU that its known threads have
// not: for a moment, the scan takes a descriptor, which the program might have got.
void scan_when_due(uint64_t now_ns);
// In a forked child: another thread may have been scanning.
void scan_after_fork();

}  // namespace sampan::preload

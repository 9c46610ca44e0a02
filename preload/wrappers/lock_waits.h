// Waits for locks and events, and the releases that end them (kLockWait, kRelease and kLockOrigin of wire/record.h).
//
// A wrapper tries to get the lock first. Only if that fails, the call that blocks is timed. A wait of d ns is
// recorded with probability min(1, d / limit), so it stands for max(d, limit): totals are unbiased.
//
// No record is written while the lock is held for which the thread has waited: that would make others wait. So the
// wait is kept until the thread has released the lock. Its stack is walked before the call that blocks. That time is
// the waiter's own, but for a condition: there the thread holds the mutex until it blocks.
//
// Any thread at any time, also in signal handlers: nothing waits, and what cannot be recorded is counted. errno is not
// touched. What is waited for is only passed on to the C library: it may be gone when the call returns.
//
// Freestanding: linked into the target.
#pragma once

#include <cstdint>

#include "preload/threads/threads.h"
#include "preload/wrappers/lock_questions.h"
#include "wire/record.h"

namespace sampan::preload {

// ControlBlock::lock_limit_ns, and 0 before start_lock_waits().
extern constinit const std::atomic<uint64_t>* lock_limit_ns;
extern constinit LockQuestions* lock_questions;
// Not 0 while the process has one thread, as glibc knows it (since 2.32).
extern constinit const volatile char* single_threaded;
// How many waits the calling thread keeps. A hint: a forked child inherits it.
extern constinit thread_local uint32_t kept_lock_waits;

// In the constructor, when the session has been joined. Nothing is recorded if there is no memory.
void start_lock_waits();
// lock_functions.cpp: the same, when all that the wrappers call is there. May leave an error for dlerror().
void start_lock_functions();

inline bool locks_recorded() {
  return lock_limit_ns->load(std::memory_order_relaxed) != 0;
}

// One wait: construct it before the call that blocks, and end it after.
class LockWait {
 public:
  // `caller`: the return address into the code that called the wrapper.
  LockWait(const volatile void* lock, wire::LockKind kind, const void* caller);
  LockWait(const LockWait&) = delete;
  LockWait& operator=(const LockWait&) = delete;

  // `held`: what the thread holds because of the wait, until it calls LockRelease for it; null: nothing.
  void end(const volatile void* held);
  // The thread did not wait at all.
  void cancel();

 private:
  uint64_t limit_ns_;      // 0: not recorded
  uint64_t drawn_ns_ = 0;  // it is recorded if it takes longer
  uint64_t begin_ns_ = 0;
  uint64_t id_ = 0;  // 0: the thread has no room for it
};

// One release: construct it before the call that releases, and end it after.
class LockRelease {
 public:
  LockRelease(const volatile void* lock, LockQuestions::Group group);
  LockRelease(const LockRelease&) = delete;
  LockRelease& operator=(const LockRelease&) = delete;

  // Whether there is anything to do: one look where nobody waits for anything.
  static bool concerns(LockQuestions::Group group) {
    return lock_questions->any(group) || kept_lock_waits != 0;
  }
  // The lock has been released: writes the release, if somebody waits for it, and the waits that were kept for it.
  void end(const void* caller) {
    write_if_asked(caller);
    if (kept_lock_waits != 0) write_kept();
  }
  // Writes the release alone, which is about to happen.
  void write_if_asked(const void* caller);
  // Writes it in any case: it has ended all waits.
  void write(const void* caller) const;

 private:
  void write_kept() const;

  const uint64_t lock_;
  const LockQuestions::Release release_;
};

// The calling thread ends, or its process: what it keeps is written.
void end_lock_waits(ThreadState& ending);

}  // namespace sampan::preload

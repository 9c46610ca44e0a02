// A lock for a few instructions, held with all signals blocked. Code that may have interrupted the
// holder (a signal handler) only tries to take it.
//
// Freestanding: linked into the target.
#pragma once

#include <sched.h>

#include <atomic>

#include "base/syscall.h"
#include "preload/support/signal_set.h"

namespace sampan::preload {

class SpinLock {
 public:
  bool try_lock() { return !locked_.exchange(true, std::memory_order_acquire); }
  void lock() {
    while (!try_lock()) raw_syscall(SYS_sched_yield);
  }
  // Gives up after so many yields: for callers that rather lose a record than wait for long.
  bool lock_for(unsigned yields) {
    for (unsigned i = 0; i < yields; ++i) {
      if (try_lock()) return true;
      raw_syscall(SYS_sched_yield);
    }
    return false;
  }
  void unlock() { locked_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> locked_;
};

// A task that any thread may request and that one thread runs at a time. It is run from its
// beginning after every request: by the requesting thread, or again by the thread that is running
// it. So a request never waits, and a signal handler may interrupt the task and request it.
class SharedTask {
 public:
  template <typename F>
  void request(F&& task) {
    requested_.store(true, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    run_if_requested(task);
  }
  template <typename F>
  void run_if_requested(F&& task) {
    while (requested_.load(std::memory_order_relaxed) && lock_.try_lock()) {
      while (requested_.exchange(false)) task();
      unlock();
    }
  }

  // Keeps the task from running. The caller calls run_if_requested after unlock, when it can.
  bool lock_for(unsigned yields) { return lock_.lock_for(yields); }
  // Either the next load of `requested_` sees a request, or its thread sees the lock free.
  void unlock() {
    lock_.unlock();
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }

 private:
  SpinLock lock_{};
  std::atomic<bool> requested_{};
};

// Blocks all signals of the calling thread in the kernel, past every interposer.
class SignalsBlocked {
 public:
  SignalsBlocked() : saved_(change_kernel_mask(SIG_SETMASK, ~uint64_t{0})) {}
  ~SignalsBlocked() { change_kernel_mask(SIG_SETMASK, saved_); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  const uint64_t saved_;
};

}  // namespace sampan::preload

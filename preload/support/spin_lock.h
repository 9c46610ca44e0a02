// A lock for a few instructions, held with all signals blocked. Whoever may have interrupted its
// holder (a signal handler) only ever tries.
//
// Freestanding: linked into the target.
#pragma once

#include <sched.h>
#include <signal.h>

#include <atomic>
#include <cstdint>

#include "base/syscall.h"

namespace sampan::preload {

class SpinLock {
 public:
  bool try_lock() { return !locked_.exchange(true, std::memory_order_acquire); }
  void lock() {
    while (!try_lock()) raw_syscall(SYS_sched_yield);
  }
  // For those that would rather lose a record than wait for long.
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

// Blocks all signals of the calling thread in the kernel, past every interposer.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    const uint64_t all = ~uint64_t{0};
    raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &saved_, sizeof saved_);
  }
  ~SignalsBlocked() {
    raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, &saved_, nullptr, sizeof saved_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  uint64_t saved_ = 0;
};

}  // namespace sampan::preload

// Signal sets as the kernel has them: one 64-bit word, bit n-1 for signal n. sigset_t is larger, but
// the kernel and glibc use only its first word.
//
// Freestanding: linked into the target. Async-signal-safe.
#pragma once

#include <signal.h>

#include <cstdint>
#include <cstring>

#include "base/syscall.h"

namespace sampan::preload {

inline constexpr int kSignalCount = 64;
inline constexpr size_t kKernelSetSize = sizeof(uint64_t);

constexpr uint64_t signal_bit(int signo) {
  return uint64_t{1} << (signo - 1);
}
constexpr bool is_signal(int signo) {
  return signo >= 1 && signo <= kSignalCount;
}

// SIGCANCEL and SIGSETXID of glibc, which programs cannot block or handle.
inline constexpr uint64_t kLibcSignals = signal_bit(32) | signal_bit(33);
inline constexpr uint64_t kUnblockable = signal_bit(SIGKILL) | signal_bit(SIGSTOP);

// The kernel's default action for these is to do nothing (SIGCHLD and SIGCONT have other effects).
constexpr bool is_ignored_by_default(int signo) {
  return signo == SIGURG || signo == SIGWINCH;
}

inline uint64_t signal_bits(const sigset_t& set) {
  uint64_t bits;
  std::memcpy(&bits, &set, sizeof bits);
  return bits;
}
inline void set_signal_bits(sigset_t& set, uint64_t bits) {
  std::memcpy(&set, &bits, sizeof bits);
}
inline sigset_t signal_set(uint64_t bits) {
  sigset_t set{};
  set_signal_bits(set, bits);
  return set;
}

// Changes the calling thread's mask in the kernel and returns what it was.
inline uint64_t change_kernel_mask(int how, uint64_t bits) {
  uint64_t before = 0;
  raw_syscall(SYS_rt_sigprocmask, how, &bits, &before, kKernelSetSize);
  return before;
}
inline uint64_t kernel_mask() {
  uint64_t now = 0;
  raw_syscall(SYS_rt_sigprocmask, SIG_BLOCK, nullptr, &now, kKernelSetSize);
  return now;
}

}  // namespace sampan::preload

// fork and its relatives, after which the child joins the session on its own; and the ordinary ends
// of a process: exit, quick_exit, _exit. Nothing needs to be done after a signal: the rings survive.
//
// Freestanding: linked into the target.
#pragma once

#include <cstdint>

namespace sampan::preload {

// Around every call that makes a process with memory of its own (no CLONE_VM): what it began with is ended in both. It keeps
// no lock of the C library, so the child may do no more than after the bare call.
struct ForkState {
  uint64_t mask;     // the kernel's, of the calling thread
  bool has_modules;  // their lock is held
};
ForkState begin_fork();
void end_fork_in_parent(const ForkState& state);
void end_fork_in_child(const ForkState& state);
// Whether syscall(number, a, b) is such a call, on the caller's stack and with its thread pointer (clone.cpp).
bool is_fork_call(long number, long a, long b);

// Registers what is done around fork(). False when that fails.
bool start_fork();
// Registers what is done when the program calls exit or returns from main.
void start_exit();

// When the image ends: records the threads that are alive and the CPU that they have used.
void record_live_threads();

}  // namespace sampan::preload

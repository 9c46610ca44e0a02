// What a program forbids its own threads: system calls (seccomp, user dispatch), and the CPU's clock.
// Each function is called in place of `install`, which does what the program asks for and returns what
// the program gets: negative on failure.
//
// A signal of ours needs its return, rt_sigreturn, and the clock. Where the program forbids one of
// them, clocks stop before `install`, and the threads are counted as unsampled. Where it only forbids
// other calls, the shim makes no system call from then on (Process::seccomp_filtered).
//
// Freestanding: linked into the target.
#pragma once

#include <cstdint>

namespace sampan::preload {

struct FilterRequest {
  uint64_t program;  // the address of a sock_fprog; it may be wrong
  unsigned flags;    // SECCOMP_FILTER_FLAG_…
};

// A call of the program's, as a function with its context.
struct Install {
  long (*call)(const void* context);
  const void* context;
  long operator()() const { return call(context); }
};
template <typename F>
Install install_by(const F& function) {
  return {
      [](const void* context) { return static_cast<long>((*static_cast<const F*>(context))()); },
      &function};
}

long install_filter(const FilterRequest& request, Install install);
// Leaves the calling thread read, write, exit and sigreturn.
long become_strict(Install install);
// PR_SET_SYSCALL_USER_DISPATCH: the calling thread's system calls become signals, the handler's return,
// too.
long set_dispatch(bool on, Install install);
// PR_SET_TSC with PR_TSC_SIGSEGV: rdtsc faults in this thread, and in those that it makes.
long forbid_tsc(Install install);

// At start-up: the settings that the process was born with.
void start_confinement();
// The process was born under a filter that forbids a signal or its return.
void forbid_samples();
// A forked child has its filters and its clock's setting, but no dispatch.
void confinement_after_fork();

}  // namespace sampan::preload

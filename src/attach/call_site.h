// Where in a process's own code a chain of system calls can be run (call_chain.h): nothing is ever
// written into code.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace sampan::attach {

struct CallSite {
  uint64_t call;           // AVMA of `syscall; ret`
  uint64_t signal_return;  // AVMA of `mov $15, %rax; syscall`: what handlers return to
};

// Looks through the code of the C library, the program and the vdso: none is ever unloaded. Nothing
// when one of the two is nowhere (right after exec, the C library is not there yet).
std::optional<CallSite> find_call_site(pid_t pid);

// The stack of the process's first thread, as far as it is mapped now.
struct StackRange {
  uint64_t low, high;
};
std::optional<StackRange> first_stack(pid_t pid);

}  // namespace sampan::attach

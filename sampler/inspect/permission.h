// Whether this machine permits us to look into other processes, and why not: the kernel's rules
// (perf_event_open(2), ptrace(2) "Ptrace access mode checking", yama) as sentences.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace sampan::sampler {

// Why `pid` cannot be profiled by any engine, and what to do: no such process, a zombie, a kernel
// thread, ourselves. Empty when it can be tried.
std::string why_not_profilable(pid_t pid);

// Why the kernel refused perf_event_open, or ptrace, for `pid` with `error`: which rule, with its
// value, and what to do about it. Never empty.
std::string why_perf_refused(pid_t pid, int error);
std::string why_ptrace_refused(pid_t pid, int error);

// Throws Refused when the kernel does not permit to read what the threads of `pid` do, and its memory.
void demand_reading(pid_t pid);

// One line of `sampan doctor`.
struct Finding {
  bool good;
  std::string subject;  // "perf engine"
  std::string verdict;  // "permitted, up to 4,000 Hz"
  std::string advice;   // "" when good
};
// Tries each thing on a process of our own, and on `pid` if there is one.
std::vector<Finding> examine(std::optional<pid_t> pid);

// Says of a command, before `sampan run` starts it, whether the shim can be loaded into it, and which inherited limits
// and filters would cost samples. `word` is the command's first word, as typed. Tries things on a child of our own; the
// command is not started.
std::vector<Finding> examine_command(const std::string& word);

// Why the limit on the address space (RLIMIT_AS, which programs inherit) keeps the shim out; "" if it does not.
std::string why_no_address_space();

// The process with the pid "1234", or with a program's name. Throws Error when there is none of
// that name, or more than one, which it lists.
pid_t find_process(const std::string& pid_or_name);

}  // namespace sampan::sampler

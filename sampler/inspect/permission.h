// What this machine permits of looking into other processes, and why it does not: rules of the
// kernel (perf_event_open(2), ptrace(2) "Ptrace access mode checking", yama) in sentences.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "attach/engine.h"

namespace sampan::attach {

// Why `pid` cannot be profiled by any engine, and what to do: no such process, a zombie, a kernel
// thread, ourselves. Empty when nothing speaks against trying.
std::string why_not_profilable(pid_t pid);

// Why the kernel refused this engine for `pid` with `error`: which rule, with its value, and what
// to do about it. Never empty.
std::string why_refused(EngineKind engine, pid_t pid, int error);

// One line of `sampan doctor`.
struct Finding {
  bool good;
  std::string subject;  // "perf engine"
  std::string verdict;  // "permitted, up to 4,000 Hz"
  std::string advice;   // "" when good
};
// By trying each thing on a process of our own, and, where one is given, on `pid`.
std::vector<Finding> examine(std::optional<pid_t> pid);

// The process that a person means by "1234" or by a program's name. Throws Error when there is none
// of that name, or more than one (they are listed).
pid_t find_process(const std::string& pid_or_name);

}  // namespace sampan::attach

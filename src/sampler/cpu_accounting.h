// What the kernel accounts to a process, seen from outside.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace sampan::sampler {

// CPU time of all threads of `pid`, ended ones too, since it was forked (exec does not reset it).
// Works for any process of any user, and for a zombie until somebody has waited for it.
std::optional<uint64_t> process_cpu_ns(pid_t pid);

// CPU time of one thread, brought up to date at the latest a tick ago; of any process.
std::optional<uint64_t> thread_cpu_ns(pid_t pid, pid_t tid);

struct ExitState {
  std::optional<int> status;
  std::optional<int> signal;
};
// How the ended process behind `pidfd` ended: known of our own children that nobody has waited for,
// and of others where the kernel keeps it (PIDFD_GET_INFO, Linux 6.15).
ExitState exit_state(int pidfd);

}  // namespace sampan::sampler

// What the kernel accounts to a process, seen from outside, and what it does not: time that a
// hypervisor took from this machine's CPUs.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/time.h"

namespace sampan::sampler {

// CPU time of all threads of `pid`, ended ones too, since it was forked (exec does not reset it).
// Works for any process of any user, and for a zombie until somebody has waited for it.
std::optional<CpuNs> process_cpu_ns(pid_t pid);

struct ExitState {
  std::optional<int> status;
  std::optional<int> signal;

  bool known() const { return status || signal; }
};
// `status` as wait() gives it.
ExitState from_wait_status(int status);
// How the process behind `pidfd` ended. Known for our own children that nobody has waited for, and
// for others where the kernel keeps it (PIDFD_GET_INFO, Linux 6.15).
ExitState exit_state(int pidfd);
// The same, and what /proc says of the zombie `pid`.
ExitState exit_state(pid_t pid, int pidfd);

// Whether a hypervisor is taking time from this machine's CPUs now ("steal" of proc_stat(5)). The
// kernel does not account that to threads, but perf's clocks count it: when a third of a CPU is
// stolen, a thread's clock by perf shows half as much again as it has used.
class StolenTime {
 public:
  StolenTime();

  // Reads /proc/stat, at most once a second: that is slow on machines with many CPUs.
  void look(MonotonicNs now_ns);
  bool any() const { return any_; }

 private:
  bool known_;  // the kernel accounts soon enough to tell
  bool any_ = false;
  uint64_t total_ = 0;
  MonotonicNs next_look_ns_ = 0;
};

// The steal field of the first line of /proc/stat, in its ticks; 0 if there is none.
uint64_t stolen_ticks(std::string_view stat);

// The least that was stolen of `perf_ns`, a thread's clock by perf, when the kernel accounts
// `cpu_ns` to it, which may be a tick old.
uint64_t least_stolen(uint64_t perf_ns, CpuNs cpu_ns, uint64_t tick_ns);

}  // namespace sampan::sampler

// Time that a hypervisor took from this machine's CPUs ("steal" of proc_stat(5)). The kernel does
// not account it to threads, but perf's clocks of them run on: where a third of a CPU is stolen, a
// thread has half as much again by perf as it has used.
#pragma once

#include <cstdint>
#include <string_view>

namespace sampan::attach {

// Whether any is being stolen now.
class StolenTime {
 public:
  StolenTime();

  // Reads what the machine says, once a second at most: that is slow where there are many CPUs.
  void look(uint64_t now_ns);
  bool any() const { return any_; }

 private:
  bool known_;  // the kernel accounts soon enough to tell
  bool any_ = false;
  uint64_t total_ = 0;
  uint64_t next_look_ns_ = 0;
};

// Of the first line of /proc/stat, in its ticks; 0 where the kernel does not say.
uint64_t stolen_ticks(std::string_view stat);

// At least so much of `perf_ns`, a thread's clock by perf, was stolen, when the kernel accounts
// `cpu_ns` to it: that may be a tick old.
uint64_t least_stolen(uint64_t perf_ns, uint64_t cpu_ns, uint64_t tick_ns);

}  // namespace sampan::attach

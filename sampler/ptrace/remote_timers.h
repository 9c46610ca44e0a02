// CPU timers in another process: one for each thread, on its own CPU clock, whose signal stops the
// thread for its tracer. A thread of the process itself makes and deletes them, in chains of calls
// (call_chain.h), whenever it is stopped anyway.
//
// The signal is one that is ignored by default and that the program does not handle. When the
// tracer is gone, the kernel drops it. A cookie tells our signals from the program's own.
//
// The calls need memory for their arguments. Threads and coroutines may have small stacks, so it is
// the low end of the first thread's stack: mapped, and far below what that thread uses.
#pragma once

#include <signal.h>
#include <sys/types.h>
#include <sys/user.h>

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "sampler/ptrace/call_chain.h"

namespace sampan::sampler {

class RemoteTimers {
 public:
  RemoteTimers(pid_t pid, uint64_t period_ns);

  // False when no timer can be made: a seccomp filter might kill the process for the call, a shadow
  // stack forbids our way back, or the program handles all signals that would do.
  bool possible() const { return signal_ != 0; }
  void give_up() { signal_ = 0; }
  int signal() const { return signal_; }
  // Whether the signal has our cookie. With SI_TIMER, a timer has expired.
  bool is_ours(const siginfo_t& info) const;

  // For timers that are made from now on; the existing ones are changed by and by.
  void set_period(uint64_t period_ns);
  void want(pid_t tid);
  void forget(pid_t tid);  // it has ended, or needs no timer any more
  void forget_all();
  bool has(pid_t tid) const { return timers_.contains(tid); }
  size_t count() const { return timers_.size(); }
  bool work_to_do() const {
    return possible() && !(wanted_.empty() && unwanted_.empty() && stale_.empty());
  }
  bool unfinished() const { return work_to_do() || work_; }

  // `tid` is stopped with these registers. Makes it do some of the work, if that is safe. Returns
  // whether its registers were changed. The caller continues it in any case.
  bool begin(pid_t tid, const user_regs_struct& registers);
  // Whether `tid`, which is stopped, is making our calls. After the last one it gets its registers
  // back. The caller continues it.
  bool is_at_work(pid_t tid);
  // The thread is gone.
  void thread_ended(pid_t tid);

 private:
  struct Making {
    pid_t tid;         // 0: the timer is being made, but is not needed any more
    uint64_t id_avma;  // where timer_create leaves the id
  };
  struct Work {
    pid_t tid;
    ThreadState before;
    uint64_t last_stack_pointer;
    std::vector<Making> makings;
    std::vector<int> deletions;
    std::vector<pid_t> settings;
  };

  std::optional<uint64_t> memory_for(pid_t tid, const user_regs_struct& registers, size_t size);
  void finish();
  void find_leftovers();

  pid_t pid_;
  uint64_t period_ns_;
  int signal_ = 0;
  std::optional<CallSite> site_;
  MonotonicNs next_search_ns_ = 0;
  std::vector<pid_t> wanted_;
  std::vector<int> unwanted_;              // ids
  std::vector<pid_t> stale_;               // threads whose timers have another period
  std::unordered_map<pid_t, int> timers_;  // by thread: id
  std::optional<Work> work_;
};

}  // namespace sampan::sampler

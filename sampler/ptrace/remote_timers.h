// CPU timers that the threads of another process have for us: one for each thread, on its own CPU
// clock, whose signal stops it where a tracer sees it. They are made and deleted by a thread of the
// process itself, in chains of calls (call_chain.h), whenever one is stopped anyway.
//
// The signal is one that is ignored by default and that the program does not handle. When we are
// gone, and nobody stops the thread any more, the kernel drops it. A cookie tells our signals from
// the program's own.
//
// The calls need memory for their arguments. Threads and coroutines may have small stacks, so it is
// the low end of the first thread's: mapped, and far below what that thread uses.
#pragma once

#include <signal.h>
#include <sys/types.h>
#include <sys/user.h>

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "attach/call_chain.h"
#include "attach/call_site.h"

namespace sampan::attach {

class RemoteTimers {
 public:
  RemoteTimers(pid_t pid, uint64_t period_ns);

  // False where no timer can be made: a seccomp filter might kill the process for the call, a
  // shadow stack forbids our way back, the program handles every signal that would do.
  bool possible() const { return signal_ != 0; }
  void give_up() { signal_ = 0; }
  int signal() const { return signal_; }
  // The cookie is ours; SI_TIMER: a timer has expired.
  bool is_ours(const siginfo_t& info) const;

  // Of those that are made from now on; the others follow.
  void set_period(uint64_t period_ns);
  void want(pid_t tid);
  void forget(pid_t tid);  // it has ended, or shall have none any more
  void forget_all();
  bool has(pid_t tid) const { return timers_.contains(tid); }
  size_t count() const { return timers_.size(); }
  bool work_to_do() const {
    return possible() && !(wanted_.empty() && unwanted_.empty() && slow_.empty());
  }
  bool unfinished() const { return work_to_do() || work_; }

  // `tid` is stopped with these registers: lets it do some of the work, if it may. Returns whether
  // its registers were changed. In any case the caller continues it.
  bool begin(pid_t tid, const user_regs_struct& registers);
  // Whether `tid` is making our calls; if it has made the last one, it is given its registers back.
  // It is stopped, and the caller continues it.
  bool is_at_work(pid_t tid);
  // The thread is gone.
  void thread_ended(pid_t tid);

 private:
  struct Making {
    pid_t tid;         // 0: nobody wants it any more, but it is being made
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
  uint64_t next_search_ns_ = 0;
  std::vector<pid_t> wanted_;
  std::vector<int> unwanted_;              // ids
  std::vector<pid_t> slow_;                // that have timers of another period
  std::unordered_map<pid_t, int> timers_;  // by thread: id
  std::optional<Work> work_;
};

}  // namespace sampan::attach

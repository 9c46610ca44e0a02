#include "preload/process.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>

#include "base/syscall.h"
#include "preload/clock.h"
#include "preload/environment.h"
#include "preload/interpose.h"
#include "preload/modules.h"
#include "preload/process_ring.h"
#include "preload/sampling_signal.h"
#include "preload/sampling_switch.h"
#include "preload/scan.h"
#include "preload/session.h"
#include "preload/spin_lock.h"
#include "preload/threads.h"
#include "preload/unloading.h"
#include "wire/control_block.h"

namespace sampan::preload {

constinit Process this_process{};
constinit unwind::Walker walker;

namespace {

// After a join that failed, or for a child that is not to be profiled.
void leave() {
  this_process.started.store(false);
  if (!this_process.seccomp_filtered.load()) {
    raw_syscall(SYS_munmap, this_process.shared, wire::kSharedSize);
  }
}

// The child has its parent's shared memory still: its own is mapped over it, so that all pointers
// into it stay good.
bool join_in_child() {
  if (!this_process.follow) return false;
  const JoiningChild child{this_process.shared, sampling_paused()};
  if (!this_process.seccomp_filtered.load() &&
      join_session(session_name(), &child).shared != nullptr) {
    return true;
  }
  count_loss(wire::Loss::kProcessNotJoined);  // among the parent's
  return false;
}

// In the child. It has the calling thread alone, no timers and no perf events. Locks may be held by
// threads that are not there.
void after_fork_in_child() {
  if (!this_process.started.load(std::memory_order_relaxed)) return;
  ThreadState* thread = thread_by_pthread(pthread_self());
  sampling_signal_after_fork();
  this_process.pid = static_cast<int>(raw_syscall(SYS_getpid));
  *this_process.fork_marker = 1;
  if (!join_in_child()) return leave();
  publish_clock();
  start_process_ring();
  this_process.loader_may_be_locked |= keep_only(thread);
  markers_after_fork(thread);
  sections_closed_by_fork(thread);
  scan_after_fork();
  unloading_after_fork();
  modules_after_fork();
  unlock_modules();
  if (thread == nullptr) thread = claim_slot();
  if (thread != nullptr) begin_thread(*thread, this_process.pid, 0);
}

// Around fork all signals are blocked: a timer could restart the system call for ever, and the
// child must not be interrupted before it has its own memory.
struct ForkState {
  uint64_t mask;
  bool has_modules;
};
thread_local ForkState fork_state;

void before_fork() {
  const uint64_t all = ~uint64_t{0};
  raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &fork_state.mask, sizeof all);
  fork_state.has_modules = active() && lock_modules();
}

void restore_mask() {
  raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, &fork_state.mask, nullptr, sizeof fork_state.mask);
}

void in_parent() {
  if (fork_state.has_modules) unlock_modules();
  restore_mask();
}

void in_child() {
  after_fork_in_child();
  restore_mask();
}

// A page that is zeroes in a forked child, however it was forked, and unchanged in a vfork child,
// which runs in its parent's memory.
char* make_fork_marker() {
  const long page = raw_syscall(SYS_mmap, nullptr, wire::kPage, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page < 0 && page > -4096) return nullptr;
  raw_syscall(SYS_madvise, page, wire::kPage, MADV_WIPEONFORK);
  *reinterpret_cast<char*>(page) = 1;
  return reinterpret_cast<char*>(page);
}

}  // namespace

bool active() {
  if (!this_process.started.load(std::memory_order_acquire)) return false;
  if (*this_process.fork_marker == 0) {
    const SignalsBlocked blocked;
    after_fork_in_child();
  }
  return this_process.started.load(std::memory_order_relaxed);
}

bool in_vfork_child() {
  return *this_process.fork_marker != 0 && raw_syscall(SYS_getpid) != this_process.pid;
}

void count_loss(wire::Loss loss) {
  if (!this_process.started.load(std::memory_order_relaxed)) return;
  wire::control_block(this_process.shared)
      ->losses[static_cast<size_t>(loss)]
      .fetch_add(1, std::memory_order_relaxed);
}

bool start_process() {
  this_process.pid = static_cast<int>(raw_syscall(SYS_getpid));
  this_process.session_pid = this_process.pid;
  this_process.fork_marker = make_fork_marker();
  return this_process.fork_marker != nullptr &&
         pthread_atfork(before_fork, in_parent, in_child) == 0;
}

}  // namespace sampan::preload

// _Fork calls no handlers; fork() does not come through here.
SAMPAN_EXPORT pid_t _Fork() noexcept {
  using namespace sampan::preload;
  if (!active()) return SAMPAN_NEXT(_Fork)();
  before_fork();
  const pid_t pid = SAMPAN_NEXT(_Fork)();
  const int saved_errno = errno;
  pid == 0 ? in_child() : in_parent();
  errno = saved_errno;
  return pid;
}

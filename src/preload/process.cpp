#include "preload/process.h"

#include <pthread.h>
#include <sys/mman.h>

#include "base/syscall.h"
#include "preload/clock.h"
#include "preload/environment.h"
#include "preload/interpose.h"
#include "preload/modules.h"
#include "preload/process_ring.h"
#include "preload/sampling_signal.h"
#include "preload/session.h"
#include "preload/spin_lock.h"
#include "preload/threads.h"
#include "wire/control_block.h"

namespace sampan::preload {

constinit Process this_process{};
constinit unwind::Walker walker;

namespace {

// Whatever is left of the session after a join that failed: nothing may write to it.
void leave() {
  this_process.started.store(false);
  raw_syscall(SYS_munmap, this_process.shared, wire::kSharedSize);
}

// In the child. It has the calling thread alone, no timers and no perf events, and its parent's
// shared memory, over which its own is mapped: all pointers into it stay good.
void after_fork_in_child() {
  if (!this_process.started.load(std::memory_order_relaxed)) return;
  ThreadState* survivor = thread_by_pthread(pthread_self());
  sampling_signal_after_fork();
  this_process.pid = static_cast<int>(raw_syscall(SYS_getpid));
  const_cast<char&>(*this_process.fork_marker) = 1;
  if (!this_process.follow) return leave();
  const Session session = join_session(session_name(), true, this_process.shared);
  if (session.shared == nullptr) {
    count_loss(wire::Loss::kProcessNotJoined);  // in the parent's count: still mapped
    return leave();
  }
  start_process_ring();
  keep_only(survivor);
  modules_after_fork();
  if (survivor != nullptr) begin_thread(*survivor, this_process.pid, 0);
}

// Around fork: a timer could restart the system call for ever, and the child must not be
// interrupted before it has its own memory. One thread forks at a time with each of these.
thread_local uint64_t mask_before_fork;

void before_fork() {
  const uint64_t all = ~uint64_t{0};
  raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &mask_before_fork, sizeof all);
}

void restore_mask() {
  raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask_before_fork, nullptr, sizeof mask_before_fork);
}

void in_child() {
  after_fork_in_child();
  restore_mask();
}

// A page that is zeroes in a forked child, however it was forked, and unchanged in a vfork child,
// which runs in its parent's memory.
const char* make_fork_marker() {
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
         pthread_atfork(before_fork, restore_mask, in_child) == 0;
}

}  // namespace sampan::preload

// _Fork calls no handlers; fork() does not come through here.
SAMPAN_EXPORT pid_t _Fork() noexcept {
  using namespace sampan::preload;
  if (!active()) return SAMPAN_NEXT(_Fork)();
  const SignalsBlocked blocked;
  const pid_t pid = SAMPAN_NEXT(_Fork)();
  if (pid == 0) after_fork_in_child();
  return pid;
}

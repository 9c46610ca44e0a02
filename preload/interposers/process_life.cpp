#include "preload/interposers/process_life.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <utility>

#include "base/byte_writer.h"
#include "base/clock.h"
#include "base/syscall.h"
#include "base/time_namespace.h"
#include "preload/interposers/confinement.h"
#include "preload/modules/modules.h"
#include "preload/process/environment.h"
#include "preload/process/outside.h"
#include "preload/process/process.h"
#include "preload/process/session.h"
#include "preload/process/shared_memory.h"
#include "preload/python/code_table.h"
#include "preload/samples/sampling_switch.h"
#include "preload/signals/sampling_signal.h"
#include "preload/signals/signal_action.h"
#include "preload/support/interpose.h"
#include "preload/threads/threads.h"
#include "wire/control_block.h"

namespace sampan::preload {
namespace {

// The join has failed, or the child is not to be profiled.
void leave() {
  this_process.started.store(false);
  if (!this_process.seccomp_filtered.load()) {
    unmap_shared(this_process.shared, this_process.shape);
  }
}

// The child's shared memory is mapped over its parent's, so that all pointers into it stay valid.
bool join_in_child() {
  if (!this_process.follow) return false;
  if (!this_process.seccomp_filtered.load()) {
    follow_time_namespace();
    const Session session =
        join_session(session_name(), {this_process.shape, this_process.shared, sampling_paused()});
    this_process.waits_at_end = session.waits_at_end;
    if (session.shared != nullptr) return true;
    // Asked by the memory of the parent.
    if (!can_join_from_here() && ask_for_engine(wire::Outside::kChildren, 0)) return false;
  }
  count_loss(wire::Loss::kProcessNotJoined);  // among the parent's
  return false;
}

// The child has only the calling thread, no timers and no perf events. Locks may be held by threads
// that do not exist here. All signals are blocked.
void after_fork_in_child() {
  if (!this_process.started.load(std::memory_order_relaxed)) return;
  ThreadState* thread = thread_by_pthread(pthread_self());
  sampling_signal_after_fork();
  confinement_after_fork();
  this_process.pid = static_cast<int>(raw_syscall(SYS_getpid));
  *this_process.fork_marker = 1;
  if (!join_in_child()) return leave();
  start_process_ring();
  move_sampling_after_fork();
  reinstall_program_handlers();
  this_process.loader_may_be_locked |= keep_only(thread);
  markers_after_fork(thread != nullptr ? &thread->markers : nullptr);
  sections_closed_by_fork(thread != nullptr ? &thread->samples : nullptr);
  scan_after_fork();
  unloading_after_fork();
  modules_after_fork();
  code_table_after_fork();
  if (thread == nullptr) thread = claim_slot();
  if (thread != nullptr) begin_thread(*thread, this_process.pid, 0);
}

void leave_fork_in_child(uint64_t mask) {
  after_fork_in_child();
  SignalState* state = active() ? current_signals() : nullptr;
  change_kernel_mask(SIG_SETMASK, state != nullptr ? hide_after_fork(*state, mask) : mask);
}

// Of the handlers that pthread_atfork calls, which have no argument.
thread_local ForkState fork_state;

void before_fork() {
  fork_state = begin_fork();
}

void in_parent() {
  end_fork_in_parent(fork_state);
}

void in_child() {
  end_fork_in_child(fork_state);
}

// In a child that was forked by a raw system call.
void join_late() {
  leave_fork_in_child(change_kernel_mask(SIG_SETMASK, ~uint64_t{0}));
}

// A page that reads zeroes in a forked child, however it was forked, and is unchanged in a vfork
// child, which runs in its parent's memory.
char* make_fork_marker() {
  const long page = raw_syscall(SYS_mmap, nullptr, wire::kPage, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page < 0 && page > -4096) return nullptr;
  raw_syscall(SYS_madvise, page, wire::kPage, MADV_WIPEONFORK);
  *reinterpret_cast<char*>(page) = 1;
  return reinterpret_cast<char*>(page);
}

// The CPU of a thread that is alive: the reports compare its samples with it.
void write_cpu(const ThreadState& thread) {
  uint8_t buffer[sizeof(int32_t) + sizeof(uint64_t)];
  ByteWriter fields(buffer);
  fields.fixed(thread.tid);
  fields.fixed(read_clock_ns(thread_cpu_clock(thread.tid)));
  write_process_record(wire::RecordType::kThreadCpu, fields.written(), {}, wire::Loss::kNameRecord);
}

void before_exit(int status) {
  if (!active()) return;
  const bool filtered = this_process.seccomp_filtered.load(std::memory_order_relaxed);
  if (!filtered && in_vfork_child()) return;
  if (ThreadState* thread = begun_thread(); thread != nullptr && end_wrappers_in != nullptr) {
    end_wrappers_in(*thread);
  }
  record_live_threads();
  uint8_t buffer[sizeof status];
  ByteWriter fields(buffer);
  fields.fixed(int32_t{status});
  write_process_record(wire::RecordType::kExit, fields.written(), {}, wire::Loss::kNameRecord);
  if (!filtered && std::exchange(this_process.waits_at_end, false)) say_goodbye(session_name());
}

}  // namespace

// All signals are blocked around fork: a timer could restart the system call for ever, and the child
// must not be interrupted before it has its own memory.
ForkState begin_fork() {
  const uint64_t mask = change_kernel_mask(SIG_SETMASK, ~uint64_t{0});
  return {mask, active() && lock_modules()};
}

void end_fork_in_parent(const ForkState& state) {
  if (state.has_modules) unlock_modules();
  change_kernel_mask(SIG_SETMASK, state.mask);
}

void end_fork_in_child(const ForkState& state) {
  leave_fork_in_child(state.mask);
}

bool start_fork() {
  this_process.pid = static_cast<int>(raw_syscall(SYS_getpid));
  this_process.session_pid = this_process.pid;
  this_process.fork_marker = make_fork_marker();
  this_process.join_in_child = join_late;
  return this_process.fork_marker != nullptr &&
         pthread_atfork(before_fork, in_parent, in_child) == 0;
}

void record_live_threads() {
  if (this_process.seccomp_filtered.load(std::memory_order_relaxed)) return;
  scan_threads();
  for_each_thread(write_cpu);
}

// It is registered before the program's own handlers, and so called after them.
void start_exit() {
  SAMPAN_NEXT(on_exit)
  (
      [](int status, void*) {
        // glibc may have loaded modules for itself. Not in _exit: a thread that is loading may hold
        // the loader's lock for ever.
        if (active() && !this_process.loader_may_be_locked) renew_modules();
        before_exit(status);
      },
      nullptr);
}

}  // namespace sampan::preload

// _Fork calls no handlers. fork() does not come through here.
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

SAMPAN_EXPORT void quick_exit(int status) noexcept {
  sampan::preload::before_exit(status);
  SAMPAN_NEXT(quick_exit)(status);
  __builtin_unreachable();
}

SAMPAN_EXPORT void _exit(int status) {
  sampan::preload::before_exit(status);
  SAMPAN_NEXT(_exit)(status);
  __builtin_unreachable();
}

SAMPAN_EXPORT void _Exit(int status) noexcept {
  sampan::preload::before_exit(status);
  SAMPAN_NEXT(_exit)(status);
  __builtin_unreachable();
}

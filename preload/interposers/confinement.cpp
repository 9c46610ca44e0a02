#include "preload/interposers/confinement.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <time.h>

#include <atomic>
#include <span>

#include "base/clock.h"
#include "base/syscall.h"
#include "preload/process/process.h"
#include "preload/process/seccomp_filter.h"
#include "preload/signals/signal_action.h"
#include "preload/support/machine.h"
#include "preload/threads/silence.h"
#include "preload/threads/threads.h"

namespace sampan::preload {
namespace {

std::atomic<bool> has_filter = false;
// All filters that were seen allow what stops a clock, and the system call that reads one.
std::atomic<bool> seen_allow_stopping = true, seen_allow_clock = true;
std::atomic<int> dispatching = 0;  // threads

bool filtered() {
  return this_process.seccomp_filtered.load(std::memory_order_relaxed);
}
bool may_stop() {
  return seen_allow_stopping.load() && !this_process.unseen_filter.load();
}
bool may_read_clock() {
  return seen_allow_clock.load() && !this_process.unseen_filter.load();
}

// A copy of the program's filter; read in place where no system call may be made for that.
class FilterCopy {
 public:
  explicit FilterCopy(uint64_t request) {
    if (!read(request, &program_, sizeof program_)) return;
    if (program_.len == 0 || program_.len > BPF_MAXINSNS || program_.filter == nullptr) return;
    readable_ = true;
    if (filtered()) return;
    size_ = program_.len * sizeof(sock_filter);
    const long mapped = raw_syscall(SYS_mmap, nullptr, size_, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped < 0 && mapped > -4096) {
      size_ = 0;
      return;
    }
    auto* const copy = reinterpret_cast<sock_filter*>(mapped);
    readable_ = read(reinterpret_cast<uint64_t>(program_.filter), copy, size_);
    program_.filter = copy;
  }
  ~FilterCopy() {
    if (size_ != 0) raw_syscall(SYS_munmap, program_.filter, size_);
  }
  FilterCopy(const FilterCopy&) = delete;
  FilterCopy& operator=(const FilterCopy&) = delete;

  // False where the kernel will refuse: programs ask in this way what the kernel knows.
  bool readable() const { return readable_; }
  std::span<const sock_filter> program() const { return {program_.filter, program_.len}; }

 private:
  static bool read(uint64_t from, void* to, size_t size) {
    if (from == 0) return false;
    if (!filtered()) {
      const iovec here{to, size}, there{reinterpret_cast<void*>(from), size};
      const long copied =
          raw_syscall(SYS_process_vm_readv, raw_syscall(SYS_getpid), &here, 1, &there, 1, 0);
      if (copied == static_cast<long>(size)) return true;
      if (copied >= 0 || copied == -EFAULT) return false;
    }
    memcpy(to, reinterpret_cast<const void*>(from), size);
    return true;
  }

  sock_fprog program_{};
  size_t size_ = 0;  // of our copy
  bool readable_ = false;
};

// Whether the vDSO makes a system call for the time. Where the kernel does not say: yes.
bool clock_makes_calls() {
  if (clocks_by_system_call.load(std::memory_order_relaxed)) return true;
  const long fd = raw_syscall(SYS_openat, AT_FDCWD,
                              "/sys/devices/system/clocksource/clocksource0/current_clocksource",
                              O_RDONLY | O_CLOEXEC);
  if (fd < 0) return true;
  char name[32] = {};
  raw_syscall(SYS_read, fd, name, sizeof name - 1);
  raw_syscall(SYS_close, fd);
  for (const char* known : kFastClockSources) {
    if (strcmp(name, known) == 0) return false;
  }
  return true;
}

// The calls that a sample cannot do without. They are found out before the first filter.
struct Needs {
  bool known, clock_call;
  uint64_t signal_return;  // where rt_sigreturn comes from
};
Needs needs;

void find_needs() {
  if (needs.known || filtered()) return;
  needs = {true, clock_makes_calls(), signal_return_address()};
}

bool allows_stopping(std::span<const sock_filter> program) {
  for (const int number : {SYS_timer_delete, SYS_munmap, SYS_rt_sigtimedwait}) {
    if (!filter_allows(program, number)) return false;
  }
  return filter_allows(program, SYS_rt_sigprocmask, SIG_SETMASK);
}

struct Verdict {
  bool readable, samples, stopping, clock_call;
};
Verdict judge(uint64_t request) {
  const FilterCopy filter(request);
  if (!filter.readable()) return {};
  find_needs();
  const std::span<const sock_filter> program = filter.program();
  const bool clock_call = filter_allows(program, SYS_clock_gettime, CLOCK_MONOTONIC);
  const bool samples =
      filter_allows(program, SYS_rt_sigreturn, 0, needs.signal_return) &&
      (clock_call || (!needs.clock_call && !clocks_by_system_call.load(std::memory_order_relaxed)));
  return {true, samples, allows_stopping(program), clock_call};
}

void count(wire::Loss loss, uint32_t threads) {
  while (threads-- > 0) count_loss(loss);
}

// Beats are kept out of calls only in a process that may make every call. Before that ends, its threads get timers.
bool stop_drummer() {
  if (filtered() || !drum_clock::in_use()) return false;
  drum_clock::forbid(true);
  rearm_all_threads();
  return true;
}

void restart_drummer() {
  drum_clock::forbid(false);
  rearm_all_threads();
}

void follow_filters() {
  this_process.seccomp_filtered.store(has_filter.load() || this_process.unseen_filter.load() ||
                                      dispatching.load() > 0);
}

}  // namespace

long install_filter(const FilterRequest& request, Install install) {
  // Before the filter holds: to give back the copy is a system call, too.
  const Verdict verdict = judge(request.program);
  if (!verdict.readable) return install();
  const bool drummed = stop_drummer();
  const bool for_all = (request.flags & SECCOMP_FILTER_FLAG_TSYNC) != 0;
  const bool silences = !verdict.samples && may_stop();
  // From here on no thread arms a clock, so none does behind the back of those that stop them.
  const bool before = this_process.seccomp_filtered.exchange(true);
  // Under an older filter the other threads cannot be waited for.
  uint32_t silenced = 0;
  if (silences) silenced = for_all && !before ? silence_all_threads() : silence_this_thread();
  const long result = install();
  // With TSYNC, a positive result may be the thread that cannot have the filter.
  const bool has_listener = (request.flags & SECCOMP_FILTER_FLAG_NEW_LISTENER) != 0;
  if (result < 0 || (result > 0 && for_all && !has_listener)) {
    this_process.seccomp_filtered.store(before);
    if (silenced != 0 && !before) rearm_all_threads();
    if (drummed) restart_drummer();
    return result;
  }
  has_filter.store(true);
  if (!verdict.stopping) seen_allow_stopping.store(false);
  if (!verdict.clock_call) seen_allow_clock.store(false);
  count(wire::Loss::kThreadSeccomp, silenced);
  return result;
}

// Even reading the clock is fatal then (the kernel takes its instruction away), so nothing of the
// process is recorded from here on.
long become_strict(Install install) {
  const bool drummed = stop_drummer();
  count_loss(wire::Loss::kThreadSeccomp);
  this_process.started.store(false);
  const long result = install();
  if (result >= 0) return result;
  this_process.started.store(true);
  if (drummed) restart_drummer();
  return result;
}

long set_dispatch(bool on, Install install) {
  ThreadState* thread = current_thread();
  if (thread == nullptr || on == thread->dispatched) return install();
  if (!on) {
    const long result = install();
    if (result != 0) return result;
    thread->dispatched = false;
    dispatching.fetch_sub(1);
    follow_filters();
    end_silence_of_this_thread();
    return result;
  }
  stop_drummer();
  const uint32_t silenced = may_stop() ? silence_this_thread() : 0;
  dispatching.fetch_add(1);
  follow_filters();
  const long result = install();
  if (result == 0) {
    if (!thread->was_dispatched) count(wire::Loss::kThreadDispatch, silenced);
    thread->dispatched = thread->was_dispatched = true;
    return result;
  }
  dispatching.fetch_sub(1);
  follow_filters();
  if (silenced != 0) end_silence_of_this_thread();
  return result;
}

long forbid_tsc(Install install) {
  if (filtered() && !may_read_clock()) return become_strict(install);
  const bool before = clocks_by_system_call.exchange(true);
  const long result = install();
  if (result < 0) clocks_by_system_call.store(before);
  return result;
}

void start_confinement() {
  int tsc = PR_TSC_ENABLE;
  raw_syscall(SYS_prctl, PR_GET_TSC, &tsc, 0, 0, 0);
  if (tsc == PR_TSC_SIGSEGV) clocks_by_system_call.store(true);
  this_process.born_filtered = raw_syscall(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0) != 0;
}

void forbid_samples() {
  has_filter.store(true);
  seen_allow_stopping.store(false);
  follow_filters();
}

void confinement_after_fork() {
  dispatching.store(0);
  follow_filters();
}

}  // namespace sampan::preload

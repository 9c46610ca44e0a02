#include "preload/signals/sampling_signal.h"

#include <time.h>

#include "preload/process/process.h"
#include "preload/signals/signal_action.h"

namespace sampan::preload {
namespace {

std::atomic<int> spare = 0;  // 0: none left
std::atomic<int> own_pid = 0;
SpinLock lock;
std::atomic<bool> held = false;
std::atomic<uint64_t> waited = 0;      // signals that the program has waited for, in small sets
bool does_nothing_by_default = false;  // the signal is to be so
bool harmless = true;                  // the signal may be sent

int process_id() {
  return static_cast<int>(raw_syscall(SYS_getpid));
}

bool is_free(int signo) {
  return (waited.load(std::memory_order_relaxed) & signal_bit(signo)) == 0 &&
         has_default_action(signo);
}

// SIGSTKFLT first: no Linux sends it. As a standard signal it is not queued, so a perf event that
// finds the queue full merely loses a signal. A real-time signal would become a SIGIO (fcntl(2),
// F_SETSIG) and end the program.
//
// In a forked child, and with the drummer, only signals that do nothing by default: see the header.
int find_spare(int taken) {
  if (does_nothing_by_default) {
    for (const int signo : {SIGURG, SIGWINCH}) {
      if (signo != taken && is_free(signo)) return signo;
    }
    return 0;
  }
  if (taken != SIGSTKFLT && is_free(SIGSTKFLT)) return SIGSTKFLT;
  for (int signo = SIGRTMAX - 2; signo > SIGRTMIN; --signo) {
    if (signo != taken && is_free(signo)) return signo;
  }
  return 0;
}

void sample_with(int signo) {
  share_signal(signo);
  install_shared_handler(signo);  // first: owns_sampling_signal looks at it in other threads
  clock_signal.store(signo, std::memory_order_release);
  spare.store(find_spare(signo), std::memory_order_relaxed);
}

}  // namespace

uint64_t hidden_signals() {
  const int now = sampling_signal();
  const int next = spare.load(std::memory_order_relaxed);
  return (now != 0 ? signal_bit(now) : 0) | (next != 0 ? signal_bit(next) : 0);
}

bool signals_active() {
  if (sampling_signal() == 0) return false;
  // Under a seccomp filter getpid may be fatal, and so may most of what a vfork child is made for.
  return this_process.seccomp_filtered.load(std::memory_order_relaxed) ||
         own_pid.load(std::memory_order_relaxed) == process_id();
}

SignalLock::SignalLock() {
  lock.lock();
}
SignalLock::~SignalLock() {
  lock.unlock();
}

bool start_sampling_signal(const KernelHandlers& handlers, bool from_outside) {
  const SignalLock locked;
  own_pid.store(process_id(), std::memory_order_relaxed);
  handle_by(handlers);
  does_nothing_by_default = from_outside;
  // SIGPROF that the parent ignored for us, or that a library's constructor uses, is left alone.
  const int first = !from_outside && has_default_action(SIGPROF) ? SIGPROF : find_spare(0);
  if (first == 0) return false;
  sample_with(first);
  return true;
}

bool move_sampling(uint64_t signals) {
  const int before = sampling_signal();
  const int next = spare.load(std::memory_order_relaxed);
  if (next != 0 && ((signals & signal_bit(next)) != 0 || !has_default_action(next))) {
    // As if `next` were in use: the program is about to have it.
    const int other = find_spare(next);
    spare.store(other == before ? 0 : other, std::memory_order_relaxed);
  }
  if ((signals & signal_bit(before)) == 0) return false;
  const int now = spare.load(std::memory_order_relaxed);
  if (now == 0) return false;
  sample_with(now);
  return true;
}

void note_waited(uint64_t signals) {
  waited.fetch_or(signals, std::memory_order_relaxed);
}

bool owns_sampling_signal() {
  return harmless && has_our_action(sampling_signal());
}

void move_sampling_after_fork() {
  does_nothing_by_default = true;
  if (is_ignored_by_default(sampling_signal())) return;
  const int signo = find_spare(0);
  harmless = signo != 0;
  if (harmless) sample_with(signo);
}

uint64_t hide_after_fork(SignalState& state, uint64_t kernel_mask) {
  const uint64_t mask = kernel_mask | state.hidden.load(std::memory_order_relaxed);
  const uint64_t hidden = hidden_signals();
  state.set_hidden(mask & hidden);
  return mask & ~hidden;
}

void settle_hidden(SignalState& state) {
  const uint64_t stale = state.hidden.load(std::memory_order_relaxed) & ~hidden_signals();
  if (stale == 0) return;
  change_kernel_mask(SIG_BLOCK, stale);
  state.hidden.fetch_and(~stale, std::memory_order_relaxed);
  drop_pending(stale);
}

void drop_pending(uint64_t signals) {
  const timespec now{};
  siginfo_t info;
  for (;;) {
    const long signo = raw_syscall(SYS_rt_sigtimedwait, &signals, &info, &now, kKernelSetSize);
    if (signo < 0) return;
    if (sent_by_clock(info)) continue;
    send_again(static_cast<int>(signo), &info);
    return;
  }
}

void send_again(int signo, siginfo_t* info) {
  if (info->si_code == SI_TKILL) {
    raw_syscall(SYS_rt_tgsigqueueinfo, process_id(), raw_syscall(SYS_gettid), signo, info);
  } else if (raw_syscall(SYS_rt_sigqueueinfo, process_id(), signo, info) != 0) {
    // Only the main thread may repeat what another process sent.
    raw_syscall(SYS_kill, process_id(), signo);
  }
}

void hold_signal() {
  held.store(true, std::memory_order_relaxed);
}

bool has_held_signal() {
  return held.load(std::memory_order_relaxed);
}

bool take_held_signal() {
  return held.load(std::memory_order_relaxed) && held.exchange(false);
}

void deliver_held(const SignalState* state) {
  if (!has_held_signal()) return;
  const int signo = sampling_signal();
  if (state != nullptr &&
      (state->hidden.load(std::memory_order_relaxed) & signal_bit(signo)) != 0) {
    return;
  }
  if (take_held_signal()) raw_syscall(SYS_tgkill, process_id(), raw_syscall(SYS_gettid), signo);
}

void sampling_signal_after_fork() {
  own_pid.store(process_id(), std::memory_order_relaxed);
  lock.unlock();
  held.store(false, std::memory_order_relaxed);
}

}  // namespace sampan::preload

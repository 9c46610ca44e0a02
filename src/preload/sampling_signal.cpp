#include "preload/sampling_signal.h"

#include <errno.h>
#include <sched.h>
#include <ucontext.h>
#include <unistd.h>

#include "preload/handler.h"
#include "preload/interpose.h"
#include "preload/process.h"
#include "preload/program_signals.h"

namespace sampan::preload {
namespace {

std::atomic<int> sampling = 0;  // 0: not started
std::atomic<int> spare = 0;     // 0: none left
std::atomic<int> own_pid = 0;
SpinLock lock;
// A signal of the sampling number came from somebody else while the program had it blocked.
std::atomic<bool> held = false;

int process_id() {
  return static_cast<int>(raw_syscall(SYS_getpid));
}

// SIGSTKFLT first: no Linux sends it, and as a standard signal it is not queued, so that a perf
// event which finds the queue full loses a signal. A real-time one would become a SIGIO instead
// (fcntl(2), F_SETSIG), and end the program.
int find_spare(int taken) {
  if (taken != SIGSTKFLT && has_default_action(SIGSTKFLT)) return SIGSTKFLT;
  for (int signo = SIGRTMAX - 2; signo > SIGRTMIN; --signo) {
    if (signo != taken && has_default_action(signo)) return signo;
  }
  return 0;
}

// Queues `info` again, as it came, for this thread or for whichever thread can take it.
void send_again(int signo, siginfo_t* info) {
  if (info->si_code == SI_TKILL) {
    raw_syscall(SYS_rt_tgsigqueueinfo, process_id(), raw_syscall(SYS_gettid), signo, info);
  } else if (raw_syscall(SYS_rt_sigqueueinfo, process_id(), signo, info) != 0) {
    // Only the main thread may repeat what another process sent.
    raw_syscall(SYS_kill, process_id(), signo);
  }
}

bool another_thread_takes(int signo) {
  bool takes = false;
  for_each_thread([&](ThreadState& thread) {
    takes |= (thread.signals.hidden.load(std::memory_order_relaxed) & signal_bit(signo)) == 0;
  });
  return takes;
}

// A foreign signal reached a thread that believes to have it blocked.
void hold(SignalState& state, int signo, siginfo_t* info, void* ucontext) {
  if (signo != sampling.load(std::memory_order_relaxed)) {
    // Stale: the signal is the program's now, so let the thread's mask say so.
    set_signal_bits(
        static_cast<ucontext_t*>(ucontext)->uc_sigmask,
        signal_bits(static_cast<ucontext_t*>(ucontext)->uc_sigmask) | signal_bit(signo));
    state.hidden.fetch_and(~signal_bit(signo), std::memory_order_relaxed);
    send_again(signo, info);
  } else if (info->si_code != SI_TKILL && another_thread_takes(signo)) {
    set_default_action(signo);
    send_again(signo, info);
  } else {
    held.store(true, std::memory_order_relaxed);
  }
}

// What the program would have seen of a signal that is not ours.
__attribute__((noinline)) void act_for_program(int signo, siginfo_t* info, void* ucontext) {
  SignalState* state = current_signals();
  if (state != nullptr &&
      (state->hidden.load(std::memory_order_relaxed) & signal_bit(signo)) != 0) {
    hold(*state, signo, info, ucontext);
    return;
  }
  const uintptr_t handler = take_shared_handler(signo);
  if (handler == reinterpret_cast<uintptr_t>(SIG_IGN)) return;
  if (handler == reinterpret_cast<uintptr_t>(SIG_DFL)) {
    // Delivered on return, when the mask is the thread's own again: the process ends by it.
    set_default_action(signo);
    raw_syscall(SYS_rt_tgsigqueueinfo, process_id(), raw_syscall(SYS_gettid), signo, info);
    return;
  }
  // The program's handler, with the frame that the kernel made: a tail call, so that it is the
  // last.
  reinterpret_cast<void (*)(int, siginfo_t*, void*)>(handler)(signo, info, ucontext);
}

// The frame came to lie on an alternate stack of the program's, at its very end. The CPU time of
// this sample is in the next one.
bool lacks_room(const ucontext_t& context) {
  const auto low = reinterpret_cast<uint64_t>(context.uc_stack.ss_sp);
  const uint64_t room = reinterpret_cast<uint64_t>(__builtin_frame_address(0)) - low;
  return room < context.uc_stack.ss_size && room < kHandlerSize;
}

// When a queue is full, the kernel delivers a standard signal without its siginfo: all zeros.
bool has_lost_siginfo(const siginfo_t& info) {
  return info.si_code == SI_USER && info.si_pid == 0 && info.si_uid == 0;
}

}  // namespace

int sampling_signal() {
  return sampling.load(std::memory_order_relaxed);
}

uint64_t hidden_signals() {
  const int now = sampling.load(std::memory_order_relaxed);
  const int next = spare.load(std::memory_order_relaxed);
  return (now != 0 ? signal_bit(now) : 0) | (next != 0 ? signal_bit(next) : 0);
}

bool signals_active() {
  if (sampling.load(std::memory_order_relaxed) == 0) return false;
  // getpid may be fatal under a seccomp filter; so would be most of what a vfork child is for.
  return this_process.seccomp_filtered.load(std::memory_order_relaxed) ||
         own_pid.load(std::memory_order_relaxed) == process_id();
}

bool is_sampling_signal(const siginfo_t& info) {
  if (info.si_code == SI_TIMER) {
    return (reinterpret_cast<uint64_t>(info.si_value.sival_ptr) >> 32) == kCookie >> 32;
  }
  return info.si_code >= POLL_IN && info.si_code <= POLL_HUP && is_our_perf_fd(info.si_fd);
}

void sampling_handler(int signo, siginfo_t* info, void* ucontext) {
  if (is_sampling_signal(*info)) {
    // A late one, of before sampling moved to another signal, is dropped.
    if (signo != sampling.load(std::memory_order_relaxed)) return;
    if (!lacks_room(*static_cast<const ucontext_t*>(ucontext))) sample(*info, ucontext);
    return;
  }
  if (has_lost_siginfo(*info) && signo == sampling.load(std::memory_order_relaxed)) return;
  act_for_program(signo, info, ucontext);
}

SignalLock::SignalLock() {
  lock.lock();
}
SignalLock::~SignalLock() {
  lock.unlock();
}

bool start_sampling_signal() {
  look_up_waits();
  look_up_jumps();
  const SignalLock locked;
  own_pid.store(process_id(), std::memory_order_relaxed);
  // Ignored by the parent's wish, or already used by a library's constructor: leave it alone.
  const int first = has_default_action(SIGPROF) ? SIGPROF : find_spare(0);
  if (first == 0) return false;
  share_signal(first);
  sampling.store(first, std::memory_order_relaxed);
  spare.store(find_spare(first), std::memory_order_relaxed);
  install_shared_handler(first);
  return true;
}

void give_to_program(uint64_t signals) {
  const int before = sampling.load(std::memory_order_relaxed);
  const int next = spare.load(std::memory_order_relaxed);
  if (next != 0 && ((signals & signal_bit(next)) != 0 || !has_default_action(next))) {
    // Not this one, then. Searched as if it were in use: the program is about to have it.
    const int other = find_spare(next);
    spare.store(other == before ? 0 : other, std::memory_order_relaxed);
  }
  if ((signals & signal_bit(before)) == 0) return;
  const int now = spare.load(std::memory_order_relaxed);
  if (now == 0) return;
  share_signal(now);
  sampling.store(now, std::memory_order_relaxed);
  spare.store(find_spare(now), std::memory_order_relaxed);
  install_shared_handler(now);
  rearm_all_threads();
  reinstall_program_handlers();
  if (held.exchange(false)) raw_syscall(SYS_kill, process_id(), before);
}

uint64_t give_waited_to_program(uint64_t waited) {
  uint64_t wanted = waited & hidden_signals();
  if (__builtin_popcountll(waited) > kSignalCount / 2) wanted &= signal_bit(SIGPROF);
  if (wanted != 0) {
    const SignalLock locked;
    give_to_program(wanted);
  }
  return waited & ~hidden_signals();
}

SignalState* current_signals() {
  ThreadState* thread = current_thread();
  return thread != nullptr ? &thread->signals : nullptr;
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
    if (is_sampling_signal(info)) continue;
    send_again(static_cast<int>(signo), &info);
    return;
  }
}

bool has_held_signal() {
  return held.load(std::memory_order_relaxed);
}

void deliver_held(const SignalState* state) {
  if (!held.load(std::memory_order_relaxed)) return;
  const int signo = sampling.load(std::memory_order_relaxed);
  if (state != nullptr &&
      (state->hidden.load(std::memory_order_relaxed) & signal_bit(signo)) != 0) {
    return;
  }
  if (held.exchange(false)) {
    raw_syscall(SYS_tgkill, process_id(), raw_syscall(SYS_gettid), signo);
  }
}

uint64_t hidden_signals_for(const pthread_attr_t* attributes) {
  sigset_t given;
  if (!signals_active()) return 0;
  const auto get_mask = next<int(const pthread_attr_t*, sigset_t*), "pthread_attr_getsigmask_np">();
  if (attributes != nullptr && get_mask != nullptr && get_mask(attributes, &given) == 0) return 0;
  const SignalState* state = current_signals();
  return state != nullptr ? state->hidden.load(std::memory_order_relaxed) : 0;
}

void show_program_mask_to_kernel() {
  if (const SignalState* state = current_signals(); state != nullptr) {
    change_kernel_mask(SIG_BLOCK, state->hidden.load(std::memory_order_relaxed));
  }
}

void hide_program_mask_again() {
  if (const SignalState* state = current_signals(); state != nullptr) {
    change_kernel_mask(SIG_UNBLOCK,
                       state->hidden.load(std::memory_order_relaxed) & hidden_signals());
  }
}

void sampling_signal_after_fork() {
  own_pid.store(process_id(), std::memory_order_relaxed);
  lock.unlock();
  held.store(false, std::memory_order_relaxed);
}

}  // namespace sampan::preload

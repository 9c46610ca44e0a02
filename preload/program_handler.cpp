#include "preload/program_handler.h"

#include <ucontext.h>

#include "base/syscall.h"
#include "preload/signals/handler_view.h"
#include "preload/threads/threads.h"

namespace sampan::preload {
namespace {

bool another_thread_takes(int signo) {
  bool takes = false;
  for_each_thread([&](ThreadState& thread) {
    takes |= (thread.signals.hidden.load(std::memory_order_relaxed) & signal_bit(signo)) == 0;
  });
  return takes;
}

// A foreign signal has reached a thread that the program believes to have it blocked.
void hold(SignalState& state, int signo, siginfo_t* info, void* ucontext) {
  if (signo != sampling_signal()) {
    // Stale: the signal is the program's now, so the thread's mask is to say so.
    sigset_t& mask = static_cast<ucontext_t*>(ucontext)->uc_sigmask;
    set_signal_bits(mask, signal_bits(mask) | signal_bit(signo));
    state.hidden.fetch_and(~signal_bit(signo), std::memory_order_relaxed);
    send_again(signo, info);
  } else if (info->si_code != SI_TKILL && another_thread_takes(signo)) {
    if (is_ignored_by_default(signo)) return;
    set_default_action(signo);
    send_again(signo, info);
  } else {
    hold_signal();
  }
}

// `kept_for`: the signal whose action is meant.
SAMPAN_HANDLER void act(SignalState* state, int kept_for, int signo, siginfo_t* info,
                        void* ucontext) {
  const ProgramAction action = take_action(kept_for);
  if (action.is(SIG_IGN)) return;
  if (action.is(SIG_DFL)) {
    if (is_ignored_by_default(signo)) return;
    // Delivered on return, when the mask is the thread's own again: it ends the process.
    set_default_action(signo);
    raw_syscall(SYS_rt_tgsigqueueinfo, raw_syscall(SYS_getpid), raw_syscall(SYS_gettid), signo,
                info);
    return;
  }
  // The program's handler gets the frame that the kernel made.
  if (state == nullptr) {
    action.handler(signo, info, ucontext);
  } else {
    call_handler(action, *state, signo, info, ucontext);
  }
}

template <int number>
SAMPAN_HANDLER void program_handler(int signo, siginfo_t* info, void* ucontext) {
  act(current_signals(), number, signo, info, ucontext);
}

}  // namespace

#define SAMPAN_EIGHT(first)                                                               \
  program_handler<first>, program_handler<first + 1>, program_handler<first + 2>,         \
      program_handler<first + 3>, program_handler<first + 4>, program_handler<first + 5>, \
      program_handler<first + 6>, program_handler<first + 7>
constinit const SignalHandler program_handlers[kSignalCount + 1] = {
    nullptr,          SAMPAN_EIGHT(1),  SAMPAN_EIGHT(9),  SAMPAN_EIGHT(17), SAMPAN_EIGHT(25),
    SAMPAN_EIGHT(33), SAMPAN_EIGHT(41), SAMPAN_EIGHT(49), SAMPAN_EIGHT(57)};
#undef SAMPAN_EIGHT

SAMPAN_HANDLER void act_for_program(int signo, siginfo_t* info, void* ucontext) {
  SignalState* state = current_signals();
  if (state != nullptr &&
      (state->hidden.load(std::memory_order_relaxed) & signal_bit(signo)) != 0) {
    hold(*state, signo, info, ucontext);
    return;
  }
  act(state, signo, signo, info, ucontext);
}

}  // namespace sampan::preload

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

// A handler that the program has set unseen may call ours, as the one that it has replaced. If one that was set later calls
// that handler in its turn, it would come round again: so the one before is called.
uint8_t level_of(const SignalState* state, int signo, uint64_t return_address) {
  const bool goes_on = state != nullptr && return_address != handler_return_address() &&
                       (state->running & signal_bit(signo)) != 0 && has_replaced_handlers(signo);
  return goes_on ? static_cast<uint8_t>(state->level + 1) : uint8_t{0};
}

// `kept_for`: the signal whose action is meant.
SAMPAN_HANDLER void act(SignalState* state, int kept_for, uint8_t level, int signo, siginfo_t* info,
                        void* ucontext) {
  const ProgramAction action = take_action(kept_for, level);
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
    call_handler(action, level, *state, signo, info, ucontext);
  }
}

// clang-format off
#define SAMPAN_SIGNALS(EACH) \
  EACH(1) EACH(2) EACH(3) EACH(4) EACH(5) EACH(6) EACH(7) EACH(8) EACH(9) EACH(10) \
  EACH(11) EACH(12) EACH(13) EACH(14) EACH(15) EACH(16) EACH(17) EACH(18) EACH(19) EACH(20) \
  EACH(21) EACH(22) EACH(23) EACH(24) EACH(25) EACH(26) EACH(27) EACH(28) EACH(29) EACH(30) \
  EACH(31) EACH(32) EACH(33) EACH(34) EACH(35) EACH(36) EACH(37) EACH(38) EACH(39) EACH(40) \
  EACH(41) EACH(42) EACH(43) EACH(44) EACH(45) EACH(46) EACH(47) EACH(48) EACH(49) EACH(50) \
  EACH(51) EACH(52) EACH(53) EACH(54) EACH(55) EACH(56) EACH(57) EACH(58) EACH(59) EACH(60) \
  EACH(61) EACH(62) EACH(63) EACH(64)
// clang-format on

// No template: gcc puts its functions into no section.
#define SAMPAN_DEFINE(number)                                                                \
  SAMPAN_HANDLER void program_handler_##number(int signo, siginfo_t* info, void* ucontext) { \
    SignalState* state = current_signals();                                                  \
    const auto caller = reinterpret_cast<uint64_t>(__builtin_return_address(0));             \
    act(state, number, level_of(state, number, caller), signo, info, ucontext);              \
  }
SAMPAN_SIGNALS(SAMPAN_DEFINE)

}  // namespace

#define SAMPAN_NAME(number) program_handler_##number,
constinit const SignalHandler program_handlers[kSignalCount + 1] = {nullptr,
                                                                    SAMPAN_SIGNALS(SAMPAN_NAME)};

SAMPAN_HANDLER void act_for_program(int signo, siginfo_t* info, void* ucontext) {
  SignalState* state = current_signals();
  if (state != nullptr &&
      (state->hidden.load(std::memory_order_relaxed) & signal_bit(signo)) != 0) {
    hold(*state, signo, info, ucontext);
    return;
  }
  act(state, signo, 0, signo, info, ucontext);
}

}  // namespace sampan::preload

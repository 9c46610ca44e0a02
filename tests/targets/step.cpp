// Interrupts the main thread of a program that sampan runs at every instruction, for a sample there. A library, which
// the Python program of tests/e2e/python_step_test.py loads.
//
// The trap flag stops the thread after each instruction. The handler of that trap, in which the sampling signal is
// blocked, queues one as sampan's own timer would send it; so it comes when the handler has returned, and finds the
// thread between two instructions. The kernel is asked directly, for sampan's shim takes no signal out of reach.
#include <signal.h>
#include <sys/types.h>
#include <time.h>
#include <ucontext.h>

#include <cstdint>

#include "base/syscall.h"
#include "preload/clocks/clock.h"
#include "sampan/markers.h"

namespace {

constexpr long kTrapFlag = 0x100;
// Many times as many samples fit into a ring. After each, sampan has time to empty it, also on a busy machine.
constexpr long kBatch = 50;
constexpr timespec kPause{0, 20'000'000};
constexpr uint64_t kSignals = uint64_t{1} << (SIGPROF - 1);

struct KernelAction {
  void (*handler)(int, siginfo_t*, void*);
  uint64_t flags;
  void (*restorer)();
  uint64_t mask;
};

volatile long left;

extern "C" void step_return_from_signal();
asm("step_return_from_signal:\n\t"
    "mov $15, %eax\n\t"  // rt_sigreturn
    "syscall");

void on_trap(int, siginfo_t*, void* context) {
  if (left == 0) {
    static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] &= ~kTrapFlag;
    return;
  }
  left = left - 1;
  if (left % kBatch == 0) sampan::raw_syscall(SYS_nanosleep, &kPause, nullptr);
  siginfo_t info{};
  info.si_signo = SIGPROF;
  info.si_code = SI_TIMER;
  // The main thread has the first slot.
  info.si_value.sival_ptr = reinterpret_cast<void*>(sampan::preload::kCookie);
  sampan::raw_syscall(SYS_rt_tgsigqueueinfo, sampan::raw_syscall(SYS_getpid),
                      sampan::raw_syscall(SYS_gettid), SIGPROF, &info);
}

}  // namespace

extern "C" {
// NOLINTBEGIN(readability-identifier-naming)
[[gnu::visibility("default")]] void step_begin(long instructions) {
  constexpr uint64_t kSiginfo = 4, kRestorer = 0x04000000;  // SA_SIGINFO, SA_RESTORER
  const KernelAction action{on_trap, kSiginfo | kRestorer, step_return_from_signal, kSignals};
  sampan::raw_syscall(SYS_rt_sigaction, SIGTRAP, &action, nullptr, sizeof action.mask);
  left = instructions;
  sampan_resume();
  asm volatile(
      "sub $128, %%rsp\n\t"  // the red zone
      "pushfq\n\t"
      "orq %0, (%%rsp)\n\t"
      "popfq\n\t"
      "add $128, %%rsp"
      :
      : "i"(kTrapFlag)
      : "memory", "cc");
}
[[gnu::visibility("default")]] long step_left() {
  return left;
}
// NOLINTEND(readability-identifier-naming)
}

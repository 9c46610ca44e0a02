// Handlers that look at masks and change them: by calls, in the frame that they return to, by jumps. Prints what they see, which
// must not depend on whether sampan samples the program.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdio>
#include <initializer_list>

#include "work.h"

namespace {

constexpr double kSeconds = 0.02;  // of CPU: a few ticks

sigset_t full, empty, sampling;  // `sampling`: signals that sampan uses, among others

void show(const char* when, const sigset_t& set) {
  std::printf("%s:", when);
  for (int signo = 1; signo <= 64; ++signo) {
    if (sigismember(&set, signo) == 1) std::printf(" %d", signo);
  }
  std::printf("\n");
}

void show_mask(const char* when) {
  work::burn(kSeconds);
  sigset_t now;
  sigemptyset(&now);
  pthread_sigmask(SIG_BLOCK, nullptr, &now);
  show(when, now);
}

void set_mask(const sigset_t& set) {
  pthread_sigmask(SIG_SETMASK, &set, nullptr);
}

sigset_t all_but(int signo) {
  sigset_t set = full;
  sigdelset(&set, signo);
  return set;
}

void set_handler(void (*handler)(int, siginfo_t*, void*), const sigset_t& mask, int flags = 0,
                 int signo = SIGUSR1) {
  struct sigaction action {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | flags;
  action.sa_mask = mask;
  sigaction(signo, &action, nullptr);
}

// A kernel's frame holds the first 64 signals.
sigset_t in_frame(void* context) {
  sigset_t set = empty;
  for (int signo = 1; signo <= 64; ++signo) {
    if (sigismember(&static_cast<ucontext_t*>(context)->uc_sigmask, signo) == 1)
      sigaddset(&set, signo);
  }
  return set;
}

void look(int, siginfo_t*, void* context) {
  show("  frame", in_frame(context));
  show_mask("  in the handler");
}

void block_in_frame(int, siginfo_t*, void* context) {
  for (int signo = 1; signo <= 64; ++signo) {
    if (sigismember(&sampling, signo) == 1)
      sigaddset(&static_cast<ucontext_t*>(context)->uc_sigmask, signo);
  }
}

void unblock_in_frame(int, siginfo_t*, void* context) {
  for (int signo = 1; signo <= 64; ++signo) {
    if (sigismember(&sampling, signo) == 1)
      sigdelset(&static_cast<ucontext_t*>(context)->uc_sigmask, signo);
  }
}

void block_by_call(int, siginfo_t*, void*) {
  pthread_sigmask(SIG_BLOCK, &sampling, nullptr);
  show_mask("  blocked");
}

void nest(int, siginfo_t*, void*) {
  raise(SIGUSR2);
  show_mask("  after the nested one");
}

sigjmp_buf target;
void jump(int, siginfo_t*, void*) {
  siglongjmp(target, 1);
}

void frames() {
  set_mask(empty);
  for (const sigset_t& mask : {empty, sampling, full}) {
    set_handler(look, mask);
    raise(SIGUSR1);
    show_mask("after a handler that looks");
    set_mask(all_but(SIGUSR1));
    raise(SIGUSR1);
    show_mask("the same with all blocked");
    set_mask(empty);
  }
  set_handler(block_in_frame, empty);
  raise(SIGUSR1);
  show_mask("blocked in the frame");
  set_handler(look, empty);
  raise(SIGUSR1);
  set_handler(unblock_in_frame, full);
  raise(SIGUSR1);
  show_mask("unblocked in the frame");
  set_mask(all_but(SIGUSR1));
  raise(SIGUSR1);
  show_mask("all, then unblocked in the frame");
  set_mask(empty);
  set_handler(block_by_call, empty);
  raise(SIGUSR1);
  show_mask("blocked by a call in the handler");
}

void nested() {
  set_handler(nest, sampling);
  set_handler(block_in_frame, full, 0, SIGUSR2);
  raise(SIGUSR1);
  show_mask("blocked in the frame of a handler");
  set_handler(unblock_in_frame, full, 0, SIGUSR2);
  raise(SIGUSR1);
  show_mask("unblocked there");
}

void jump_out(bool keeps_mask) {
  if (sigsetjmp(target, keeps_mask ? 1 : 0) == 0) {
    set_mask(all_but(SIGUSR1));
    raise(SIGUSR1);
  }
}

void jumps() {
  set_handler(jump, full);
  for (const sigset_t& mask : {empty, sampling}) {
    set_mask(mask);
    jump_out(true);
    show_mask("after a jump with a mask");
    jump_out(false);
    show_mask("after a jump");
  }
  set_mask(sampling);
  static ucontext_t here;
  static volatile int rounds;
  rounds = 0;
  getcontext(&here);
  show_mask("a context");
  set_mask(empty);
  if (rounds == 0) {
    rounds = 1;
    setcontext(&here);
  }
}

void waits() {
  set_mask(all_but(SIGUSR2));
  raise(SIGUSR1);
  set_handler(look, sampling);
  sigset_t wait = empty;
  sigsuspend(&wait);
  show_mask("after sigsuspend");
  raise(SIGUSR1);
  set_handler(unblock_in_frame, full);
  wait = all_but(SIGUSR1);
  sigsuspend(&wait);
  show_mask("after sigsuspend, unblocked in the frame");
  set_mask(empty);
}

void resets() {
  set_handler(look, sampling, SA_RESETHAND | SA_NODEFER);
  raise(SIGUSR1);
  struct sigaction now {};
  sigaction(SIGUSR1, nullptr, &now);
  std::printf("default %d flags %x\n", now.sa_handler == SIG_DFL,
              static_cast<unsigned>(now.sa_flags) & ~0x04000000u);
  show("mask", now.sa_mask);
}

}  // namespace

int main() {
  sigfillset(&full);
  sigemptyset(&empty);
  sigemptyset(&sampling);
  for (const int signo : {SIGPROF, SIGSTKFLT, SIGURG, SIGWINCH, SIGRTMAX - 2, SIGTERM})
    sigaddset(&sampling, signo);
  frames();
  nested();
  jumps();
  waits();
  resets();
}

// Handlers that call the ones that they have replaced, set by sigaction and by the instruction itself in turn. Prints the order
// in which they run.
#include <signal.h>
#include <sys/syscall.h>

#include <cstdint>
#include <cstdio>

#include "work.h"

namespace {

using Handler = void (*)(int, siginfo_t*, void*);

struct KernelAction {
  Handler handler;
  unsigned long flags;
  void (*restorer)();
  uint64_t mask;
};

long inline_action(int signo, const KernelAction* wanted, KernelAction* before) {
  register long size asm("r10") = sizeof(uint64_t);
  long result;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(SYS_rt_sigaction), "D"(signo), "S"(wanted), "d"(before), "r"(size)
               : "rcx", "r11", "memory");
  return result;
}

Handler replaced[6];
int steps;

template <int number>
void handle(int signo, siginfo_t* info, void* context) {
  work::burn(0.01);
  if (++steps > 20) return;
  std::printf(" %d", number);
  if (replaced[number] != nullptr) replaced[number](signo, info, context);
}

template <int number>
void set() {
  struct sigaction action {
  }, before{};
  action.sa_sigaction = handle<number>;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGUSR1, &action, &before);
  replaced[number] = before.sa_sigaction;
}

template <int number>
void set_inline() {
  KernelAction action{}, before{};
  inline_action(SIGUSR1, nullptr, &action);
  action.handler = handle<number>;
  inline_action(SIGUSR1, &action, &before);
  replaced[number] = before.handler;
}

void raise_one(const char* when) {
  steps = 0;
  std::printf("%s:", when);
  raise(SIGUSR1);
  std::printf("\n");
}

}  // namespace

int main() {
  set<1>();
  raise_one("one");
  set_inline<2>();
  raise_one("two");
  set<3>();
  raise_one("three");
  set_inline<4>();
  raise_one("four");
  set<5>();
  raise_one("five");
  raise_one("and again");
}

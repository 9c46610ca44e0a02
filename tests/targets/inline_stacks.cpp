// Alternate signal stacks that are set by the instruction itself, so that no function of the C library sees them, below
// handlers that are set by sigaction: as Go does with cgo. Prints which handlers ran elsewhere than on their stack.
//
//   inline_stacks SECONDS   of CPU, for each kind
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "work.h"

namespace {

double seconds;

long inline_sigaltstack(const stack_t* wanted, stack_t* before) {
  long result;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(SYS_sigaltstack), "D"(wanted), "S"(before)
               : "rcx", "r11", "memory");
  return result;
}

thread_local stack_t expected;
thread_local unsigned elsewhere, handled;

void on_signal(int, siginfo_t*, void*) {
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  const auto low = reinterpret_cast<uintptr_t>(expected.ss_sp);
  elsewhere += here < low || here - low >= expected.ss_size ? 1 : 0;
  ++handled;
  work::spin(1, 20'000);
}

void set_handler() {
  struct sigaction action {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  sigaction(SIGUSR1, &action, nullptr);
}

void set_stack(size_t size) {
  expected = {};
  expected.ss_sp = std::malloc(size);
  expected.ss_size = size;
  if (inline_sigaltstack(&expected, nullptr) != 0) std::printf("refused\n");
}

// The stack that another has set, or else one of its own.
void take_stack(size_t size) {
  inline_sigaltstack(nullptr, &expected);
  if ((expected.ss_flags & SS_DISABLE) != 0) set_stack(size);
}

struct Kind {
  const char* name;
  void (*stack)(size_t);
  size_t size;
  bool action_first, computes_first;
};

constexpr Kind kKinds[] = {
    {"stack, action", set_stack, 64 << 10, false, false},
    {"action, stack", set_stack, 64 << 10, true, false},
    {"action, samples, stack", set_stack, 64 << 10, true, true},
    {"another's stack", take_stack, 64 << 10, true, false},
    {"samples, another's stack", take_stack, 64 << 10, true, true},
    {"small", set_stack, 8 << 10, false, false},
    {"small, after samples", set_stack, 8 << 10, true, true},
};

void* run(void* argument) {
  const Kind& kind = *static_cast<const Kind*>(argument);
  if (kind.action_first) set_handler();
  if (kind.computes_first) work::burn(seconds / 4);
  kind.stack(kind.size);
  if (!kind.action_first) set_handler();
  elsewhere = handled = 0;
  const double end = work::thread_cpu() + seconds;
  unsigned sent = 0;
  while (work::thread_cpu() < end) {
    raise(SIGUSR1);
    ++sent;
    work::spin(1, 20'000);
  }
  // The C library's view of what the instruction has set.
  stack_t now{};
  sigaltstack(nullptr, &now);
  std::printf("%s: all handled %d elsewhere %u set %d\n", kind.name, handled == sent, elsewhere,
              kind.stack == take_stack || now.ss_sp == expected.ss_sp);
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  inline_sigaltstack(&none, nullptr);
  sigaltstack(nullptr, &now);
  std::printf("%s: disabled %d\n", kind.name, (now.ss_flags & SS_DISABLE) != 0);
  return nullptr;
}

}  // namespace

int main(int, char** argv) {
  seconds = std::atof(argv[1]);
  for (const Kind& kind : kKinds) {
    signal(SIGUSR1, SIG_DFL);
    pthread_t thread;
    pthread_create(&thread, nullptr, run, const_cast<Kind*>(&kind));
    pthread_join(thread, nullptr);
  }
  signal(SIGUSR1, SIG_DFL);
  run(const_cast<Kind*>(&kKinds[1]));
}

// Children that set their signals by system calls of their own, as Chromium's do between fork and exec, and a process
// that does so itself. Prints what became of them, which must not depend on whether sampan samples them.
//
//   raw_signals         all kinds
//   raw_signals image   what the children execute
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <iterator>

#include "work.h"

namespace {

constexpr int kChildren = 3;
constexpr int kStatus = 7;
constexpr double kSeconds = 0.01;  // of CPU: a few ticks

struct KernelAction {
  void (*handler)(int);
  unsigned long flags;
  void (*restorer)();
  uint64_t mask;
};

long inline_call(long number, long a, long b, long c, long d) {
  register long fourth asm("r10") = d;
  long result;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth)
               : "rcx", "r11", "memory");
  return result;
}

long raw_action(bool by_function, int signo, const KernelAction* wanted, KernelAction* before) {
  if (by_function) return syscall(SYS_rt_sigaction, signo, wanted, before, sizeof(uint64_t));
  return inline_call(SYS_rt_sigaction, signo, reinterpret_cast<long>(wanted),
                     reinterpret_cast<long>(before), sizeof(uint64_t));
}

void reset_actions(bool by_function) {
  const KernelAction standard{};
  for (int signo = 1; signo <= 64; ++signo) raw_action(by_function, signo, &standard, nullptr);
}

struct Kind {
  const char* name;
  pid_t (*fork)();  // null: clone, on a stack of its own
  bool blocks, by_function, executes, executes_inline;
};

pid_t raw_fork() {
  return static_cast<pid_t>(syscall(SYS_fork));
}

// As sandboxes begin a helper: the child leaves the stack that clone() wants.
jmp_buf parents_stack;
pid_t clone_and_jump() {
  static char stack[16 << 10] __attribute__((aligned(16)));
  if (setjmp(parents_stack) != 0) return 0;
  const auto jump = [](void*) -> int { longjmp(parents_stack, 1); };
  return clone(jump, stack + sizeof stack, SIGCHLD, nullptr);
}

constexpr Kind kKinds[] = {
    {"blocked, inline", fork, true, false, true, false},
    {"blocked, syscall()", fork, true, true, true, false},
    {"blocked, _Fork", _Fork, true, false, true, false},
    {"blocked, raw fork", raw_fork, true, false, true, false},
    {"blocked, clone", nullptr, true, true, true, false},
    {"blocked, clone and jump", clone_and_jump, true, false, true, false},
    {"blocked, stays", fork, true, false, false, false},
    {"open, inline", fork, false, false, true, false},
    {"open, execve inline", fork, false, false, false, true},
    {"open, stays", fork, false, false, false, false},
};

sigset_t original;

void jump() {
  jmp_buf here;
  if (setjmp(here) == 0) longjmp(here, 1);
}

int in_child(void* argument) {
  jump();
  const Kind& kind = *static_cast<const Kind*>(argument);
  reset_actions(kind.by_function);
  work::burn(kSeconds);
  sigprocmask(SIG_SETMASK, &original, nullptr);
  work::burn(kSeconds);
  char name[] = "raw_signals", word[] = "image";
  char* arguments[] = {name, word, nullptr};
  if (kind.executes) execv("/proc/self/exe", arguments);
  if (kind.executes_inline) {
    inline_call(SYS_execve, reinterpret_cast<long>("/proc/self/exe"),
                reinterpret_cast<long>(arguments), reinterpret_cast<long>(environ), 0);
  }
  _exit(kStatus);
}

pid_t begin(const Kind& kind) {
  static char stack[256 << 10] __attribute__((aligned(16)));
  if (kind.fork == nullptr)
    return clone(in_child, stack + sizeof stack, SIGCHLD, const_cast<Kind*>(&kind));
  const pid_t child = kind.fork();
  if (child == 0) in_child(const_cast<Kind*>(&kind));
  return child;
}

void children(const Kind& kind) {
  int ended = 0;
  for (int i = 0; i < kChildren; ++i) {
    sigset_t all;
    sigfillset(&all);
    if (kind.blocks) sigprocmask(SIG_SETMASK, &all, nullptr);
    const pid_t child = begin(kind);
    sigprocmask(SIG_SETMASK, &original, nullptr);
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == kStatus) {
      ++ended;
    } else {
      std::printf("%s: child ended with %s\n", kind.name,
                  WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "a wrong status");
    }
  }
  std::printf("%s: %d of %d\n", kind.name, ended, kChildren);
  std::fflush(stdout);
}

// A large family: children of children, which have their parent's signals.
void grandchildren() {
  const pid_t child = fork();
  if (child == 0) {
    children(kKinds[0]);
    _exit(kStatus);
  }
  int status = 0;
  waitpid(child, &status, 0);
  std::printf("grandchildren %d\n", status);
}

std::atomic<int> handled = 0;

// By syscall(), which can be seen: the mask and the action of SIGPROF are the program's own.
void by_function() {
  uint64_t mask = ~uint64_t{0}, before = 0;
  syscall(SYS_rt_sigprocmask, SIG_BLOCK, &mask, &before, sizeof mask);
  sigset_t set;
  sigprocmask(SIG_BLOCK, nullptr, &set);
  std::printf("before %llx blocked %d\n", static_cast<unsigned long long>(before),
              sigismember(&set, SIGPROF));
  work::burn(kSeconds);
  sigpending(&set);
  std::printf("pending %d\n", sigismember(&set, SIGPROF));
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, &mask, sizeof mask);
  std::printf("mask %d then %d\n", (mask >> (SIGPROF - 1) & 1) != 0,
              sigismember(&original, SIGPROF));

  struct sigaction user {};
  user.sa_handler = [](int) { handled.fetch_add(1); };
  sigaction(SIGUSR1, &user, nullptr);
  KernelAction action{}, now{};
  raw_action(false, SIGUSR1, nullptr, &action);  // a restorer that the kernel accepts
  std::printf("set %ld", raw_action(true, SIGPROF, &action, &now));
  std::printf(" before %d\n", now.handler == nullptr);
  for (int i = 0; i < 10; ++i) {
    work::burn(kSeconds);
    raise(SIGPROF);
  }
  std::printf("handled %d", handled.load());
  raw_action(true, SIGPROF, nullptr, &now);
  std::printf(" mine %d flags %lx\n", now.handler == action.handler, now.flags);
  std::printf("bad %ld", syscall(SYS_rt_sigaction, SIGPROF, 16, nullptr, sizeof mask));
  std::printf(" %ld", syscall(SYS_rt_sigaction, SIGKILL, &action, nullptr, sizeof mask));
  std::printf(" %ld", syscall(SYS_rt_sigprocmask, 9, &mask, nullptr, sizeof mask));
  std::printf(" %ld\n", syscall(SYS_rt_sigprocmask, SIG_BLOCK, &mask, nullptr, 4));
}

}  // namespace

int main(int argc, char**) {
  if (argc > 1) {
    work::burn(kSeconds);
    return kStatus;
  }
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  sigprocmask(SIG_BLOCK, nullptr, &original);
  for (const Kind& kind : kKinds) children(kind);
  grandchildren();
  by_function();
}

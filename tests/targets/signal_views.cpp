// Prints everything that a program sees of signals. Each line must be the same under sampan.
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <initializer_list>

#include "work.h"

namespace {

void on_signal(int) {}
void on_signal_info(int, siginfo_t*, void*) {}

void show_mask(const char* when) {
  sigset_t set;
  sigemptyset(&set);
  pthread_sigmask(SIG_BLOCK, nullptr, &set);
  std::printf("%s: mask", when);
  for (int signo = 1; signo <= SIGRTMAX; ++signo) {
    if (sigismember(&set, signo) == 1) std::printf(" %d", signo);
  }
  std::printf("\n");
}

void show_action(const char* when, int signo) {
  struct sigaction action {};
  std::memset(&action, 0, sizeof action);
  sigaction(signo, nullptr, &action);
  const char* handler = action.sa_handler == SIG_DFL            ? "default"
                        : action.sa_handler == SIG_IGN          ? "ignore"
                        : action.sa_handler == on_signal        ? "simple"
                        : action.sa_sigaction == on_signal_info ? "info"
                                                                : "another";
  std::printf("%s: signal %d %s flags %x mask", when, signo, handler,
              static_cast<unsigned>(action.sa_flags) & ~0x04000000u);
  for (int other = 1; other <= SIGRTMAX; ++other) {
    if (sigismember(&action.sa_mask, other) == 1) std::printf(" %d", other);
  }
  std::printf("\n");
}

void show_stack(const char* when) {
  stack_t stack{};
  sigaltstack(nullptr, &stack);
  std::printf("%s: stack size %zu flags %d null %d\n", when, stack.ss_size, stack.ss_flags,
              stack.ss_sp == nullptr);
}

sigset_t set_of(int first, int second = 0) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, first);
  if (second != 0) sigaddset(&set, second);
  return set;
}

void masks() {
  show_mask("at start");
  sigset_t set = set_of(SIGPROF, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  show_mask("blocked two");
  sigfillset(&set);
  sigset_t before;
  sigprocmask(SIG_SETMASK, &set, &before);
  std::printf("before: PROF %d USR1 %d TERM %d\n", sigismember(&before, SIGPROF),
              sigismember(&before, SIGUSR1), sigismember(&before, SIGTERM));
  show_mask("full");
  set = set_of(SIGPROF);
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
  show_mask("without PROF");
  sigprocmask(SIG_SETMASK, &before, nullptr);
  show_mask("as before");
  std::printf("bad how %d %d\n", pthread_sigmask(77, &set, nullptr),
              sigprocmask(77, &set, nullptr));
  std::printf("sighold %d sigrelse %d\n", sighold(SIGPROF), sigrelse(SIGPROF));
  show_mask("released");
  sigemptyset(&set);
  sigprocmask(SIG_SETMASK, &set, nullptr);
}

void actions() {
  for (int signo : {SIGPROF, SIGUSR1, SIGSTKFLT, SIGRTMAX, SIGRTMAX - 2, SIGRTMIN + 1}) {
    show_action("at start", signo);
  }
  struct sigaction action {};
  action.sa_sigaction = on_signal_info;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESETHAND;
  sigfillset(&action.sa_mask);
  for (int signo : {SIGUSR1, SIGSTKFLT, SIGPROF, SIGRTMAX - 2}) {
    std::printf("sigaction %d\n", sigaction(signo, &action, nullptr));
    show_action("set", signo);
  }
  show_action("again", SIGUSR1);
  std::printf("signal %d", signal(SIGPROF, SIG_IGN) == SIG_DFL);
  std::printf(" %d", signal(SIGPROF, on_signal) == SIG_IGN);
  show_action(" set by signal", SIGPROF);
  std::printf("bad %d %d\n", signal(0, on_signal) == SIG_ERR,
              signal(SIGKILL, on_signal) == SIG_ERR);
  siginterrupt(SIGPROF, 1);
  show_action("siginterrupt", SIGPROF);
  signal(SIGPROF, on_signal);
  show_action("and signal", SIGPROF);
  sysv_signal(SIGPROF, on_signal);
  show_action("sysv_signal", SIGPROF);
  raise(SIGPROF);
  show_action("after one", SIGPROF);
  std::printf("sigset %d", sigset(SIGPROF, SIG_HOLD) == SIG_DFL);
  std::printf(" %d\n", sigset(SIGPROF, on_signal) == SIG_HOLD);
  show_action("sigset", SIGPROF);
  show_mask("sigset");
  sigignore(SIGPROF);
  show_action("sigignore", SIGPROF);
  raise(SIGPROF);
  for (int signo : {SIGUSR1, SIGSTKFLT, SIGPROF, SIGRTMAX - 2}) signal(signo, SIG_DFL);
}

void stacks() {
  static char memory[64 << 10];
  show_stack("at start");
  stack_t stack{};
  stack.ss_sp = memory;
  for (size_t size : {size_t{100}, size_t{4096}, size_t{8192}, sizeof memory}) {
    stack.ss_size = size;
    stack.ss_flags = 0;
    errno = 0;
    const int result = sigaltstack(&stack, nullptr);
    std::printf("sigaltstack %zu: %d errno %d\n", size, result, errno);
    show_stack("set");
  }
  stack.ss_flags = SS_DISABLE;
  std::printf("disable %d\n", sigaltstack(&stack, nullptr));
  show_stack("disabled");
}

void pending() {
  sigset_t set = set_of(SIGPROF);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  sigset_t waiting;
  work::burn(0.02);
  sigpending(&waiting);
  std::printf("pending PROF %d\n", sigismember(&waiting, SIGPROF));
  kill(getpid(), SIGPROF);
  work::burn(0.02);
  sigpending(&waiting);
  std::printf("pending PROF %d\n", sigismember(&waiting, SIGPROF));
  const timespec zero{};
  siginfo_t info{};
  std::printf("waited %d", sigtimedwait(&set, &info, &zero));
  std::printf(" code %d mine %d\n", info.si_code, info.si_pid == getpid());
  errno = 0;
  const timespec soon{0, 20'000'000};
  int result = sigtimedwait(&set, &info, &soon);
  std::printf("waited %d errno %d\n", result, errno);
  sigfillset(&set);
  raise(SIGUSR2);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  errno = 0;
  raise(SIGUSR1);
  std::printf("waited for all %d\n", sigtimedwait(&set, &info, &soon));
  errno = 0;
  result = sigtimedwait(&set, &info, &soon);
  std::printf("waited for all %d errno %d\n", result, errno);
  const int fd = signalfd(-1, &set, SFD_NONBLOCK);
  signalfd_siginfo from_fd{};
  work::burn(0.05);
  errno = 0;
  const ssize_t size = read(fd, &from_fd, sizeof from_fd);
  std::printf("signalfd %zd errno %d\n", size, errno);
  raise(SIGPROF);
  std::printf("signalfd %zd", read(fd, &from_fd, sizeof from_fd));
  std::printf(" signal %u\n", from_fd.ssi_signo);
  close(fd);
  sigemptyset(&set);
  sigprocmask(SIG_SETMASK, &set, nullptr);
}

void waits() {
  sigset_t full, none;
  sigfillset(&full);
  sigemptyset(&none);
  const timespec soon{0, 2'000'000};
  std::printf("ppoll %d\n", ppoll(nullptr, 0, &soon, &full));
  std::printf("pselect %d\n", pselect(0, nullptr, nullptr, nullptr, &soon, &full));
  const int fd = epoll_create1(0);
  epoll_event event;
  std::printf("epoll_pwait %d\n", epoll_pwait(fd, &event, 1, 2, &full));
  close(fd);
  show_mask("after waits");
  signal(SIGUSR1, on_signal);
  sigprocmask(SIG_SETMASK, &full, nullptr);
  raise(SIGUSR1);
  errno = 0;
  std::printf("sigsuspend %d", sigsuspend(&none));
  std::printf(" errno %d\n", errno);
  show_mask("after sigsuspend");
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

// The signal state that a child image of this program begins with.
void children(const char* self) {
  sigset_t set = set_of(SIGPROF);
  for (int blocked = 0; blocked < 2; ++blocked) {
    if (blocked != 0) sigprocmask(SIG_BLOCK, &set, nullptr);
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      show_mask("in a fork");
      std::fflush(stdout);
      execl("/proc/self/exe", self, "born", static_cast<char*>(nullptr));
      _exit(9);
    }
    int status = 0;
    waitpid(child, &status, 0);
    std::printf("child %d\n", status);
  }
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    kill(getpid(), SIGPROF);
    _exit(1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  std::printf("killed by %d\n", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

void* in_thread(void*) {
  show_mask("in a thread");
  show_stack("in a thread");
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) {
    show_mask("born");
    show_action("born", SIGPROF);
    return 0;
  }
  masks();
  children(argv[0]);  // before anything claims SIGPROF
  sigset_t set = set_of(SIGPROF, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  pthread_t thread;
  pthread_create(&thread, nullptr, in_thread, nullptr);
  pthread_join(thread, nullptr);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  signal(SIGUSR2, on_signal);
  stacks();
  waits();
  pending();
  actions();
  children(argv[0]);  // and after
}

// Programs that forbid themselves what a signal handler needs: its return, by seccomp filters or user dispatch, or the
// CPU's clock. Each kind is a process of its own. Prints what became of them, which must not depend on whether sampan
// samples them.
//
//   confined          all kinds
//   confined KIND     one of kKinds, or:
//   confined dispatched    says "on" and computes for a second and more, while its calls are dispatched
//   confined filtered      says "off", reads a letter, puts in a filter, and computes as long
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <vector>

#include "work.h"

namespace {

// Without the clock: 10 to 30 ms.
constexpr uint64_t kSteps = 6'000'000;

void compute() {
  volatile uint64_t sink = work::spin(1, kSteps);
  (void)sink;
}

// What the kernel is asked without the C library.
long inline_call(long number, long a = 0, long b = 0, long c = 0) {
  long result;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c)
               : "rcx", "r11", "memory");
  return result;
}

std::vector<sock_filter> forbidding(std::initializer_list<int> calls, uint32_t answer) {
  std::vector<sock_filter> code{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (const int call : calls) {
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(call), 0, 1));
    code.push_back(BPF_STMT(BPF_RET | BPF_K, answer));
  }
  code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  return code;
}

enum class How { kPrctl, kSyscall, kForAll, kInline };

void install(std::vector<sock_filter> code, How how) {
  const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  long result = -1;
  switch (how) {
    case How::kPrctl: result = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program); break;
    case How::kSyscall: result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program); break;
    case How::kForAll:
      result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
      break;
    case How::kInline:
      result =
          inline_call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, reinterpret_cast<long>(&program));
  }
  if (result != 0) _exit(1);
}

void filter(uint32_t answer, How how) {
  compute();
  install(forbidding({SYS_rt_sigreturn}, answer), how);
  compute();
}

void kill_by_prctl() {
  filter(SECCOMP_RET_KILL_PROCESS, How::kPrctl);
}
void kill_by_syscall() {
  filter(SECCOMP_RET_KILL_PROCESS, How::kSyscall);
}
void trap() {
  filter(SECCOMP_RET_TRAP, How::kPrctl);
}
void fail() {
  filter(SECCOMP_RET_ERRNO | EPERM, How::kSyscall);
}

// The first one forbids what has nothing to do with samples.
void two_filters() {
  install(forbidding({SYS_ptrace}, SECCOMP_RET_KILL_PROCESS), How::kPrctl);
  filter(SECCOMP_RET_KILL_PROCESS, How::kPrctl);
}

void* compute_in_thread(void*) {
  for (int i = 0; i < 3; ++i) compute();
  return nullptr;
}

std::atomic<bool> all_filtered;
void* compute_before_and_after(void*) {
  while (!all_filtered) compute();
  return compute_in_thread(nullptr);
}

void filter_for_all_threads() {
  pthread_t threads[3];
  for (pthread_t& thread : threads) {
    pthread_create(&thread, nullptr, compute_before_and_after, nullptr);
  }
  filter(SECCOMP_RET_KILL_PROCESS, How::kForAll);
  all_filtered = true;
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
}

// A thread that confines itself, and one that it makes.
void filter_in_a_thread() {
  pthread_t thread;
  const auto run = [](void*) -> void* {
    filter(SECCOMP_RET_KILL_PROCESS, How::kPrctl);
    pthread_t other;
    pthread_create(&other, nullptr, compute_in_thread, nullptr);
    pthread_join(other, nullptr);
    return nullptr;
  };
  pthread_create(&thread, nullptr, run, nullptr);
  compute();
  pthread_join(thread, nullptr);
  compute();
}

// Past all that could see it; forbids what the start and the end of a sampled thread need.
void filter_inline() {
  install(forbidding({SYS_timer_create, SYS_timer_delete, SYS_perf_event_open, SYS_sigaltstack,
                      SYS_getdents64, SYS_fcntl},
                     SECCOMP_RET_KILL_PROCESS),
          How::kInline);
  for (int i = 0; i < 2; ++i) {
    pthread_t thread;
    pthread_create(&thread, nullptr, compute_in_thread, nullptr);
    compute();
    pthread_join(thread, nullptr);
  }
}

// The image is born under the filter, and nothing has seen that one go in, nor the fork, nor the exec.
void inherited() {
  const long child = inline_call(SYS_fork);
  if (child == 0) {
    install(forbidding({SYS_rt_sigreturn}, SECCOMP_RET_KILL_PROCESS), How::kInline);
    char name[] = "confined", word[] = "image";
    char* arguments[] = {name, word, nullptr};
    inline_call(SYS_execve, reinterpret_cast<long>("/proc/self/exe"),
                reinterpret_cast<long>(arguments), reinterpret_cast<long>(environ));
    _exit(99);
  }
  int status = 0;
  waitpid(static_cast<pid_t>(child), &status, 0);
  std::printf("image: %d\n", status);
}

// What libraries do to find out what the kernel knows, and a filter that it refuses.
void refused() {
  std::printf("null %ld",
              syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, nullptr));
  std::printf(" %d", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, nullptr));
  std::printf(" errno %d", errno);
  std::printf(" nowhere %d", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, 16));
  std::printf(" errno %d", errno);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  sock_filter code[] = {BPF_STMT(BPF_RET | BPF_X, 0)};
  sock_fprog program{1, code};
  std::printf(" damaged %d", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
  std::printf(" errno %d", errno);
  program = {1, reinterpret_cast<sock_filter*>(16)};
  std::printf(" code nowhere %d", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
  std::printf(" errno %d\n", errno);
  for (int i = 0; i < 4; ++i) compute();
}

// Samples need no call but their return.
void few_calls() {
  std::vector<sock_filter> code{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (const int call : {SYS_rt_sigreturn, SYS_write, SYS_exit_group}) {
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(call), 0, 1));
    code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  }
  code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
  install(code, How::kPrctl);
  for (int i = 0; i < 4; ++i) compute();
}

void stay_filtered() {
  std::printf("off\n");
  std::fflush(stdout);
  std::getchar();
  install(forbidding({SYS_rt_sigreturn}, SECCOMP_RET_KILL_PROCESS), How::kPrctl);
  for (int i = 0; i < 150; ++i) compute();
}

volatile unsigned char selector = SYSCALL_DISPATCH_FILTER_ALLOW;
volatile unsigned dispatched = 0;

void on_dispatch(int, siginfo_t*, void*) {
  selector = SYSCALL_DISPATCH_FILTER_ALLOW;  // the handler's return is a call
  dispatched = dispatched + 1;
}

void dispatch(void (*work)()) {
  struct sigaction action {};
  action.sa_sigaction = on_dispatch;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSYS, &action, nullptr);
  for (int i = 0; i < 3; ++i) {
    compute();
    const int on = prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, 0, 0, &selector);
    for (int call = 0; call < 3; ++call) {
      selector = SYSCALL_DISPATCH_FILTER_BLOCK;
      work();
      inline_call(SYS_getpid);
      work();
    }
    const int off = prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_OFF, 0, 0, 0);
    std::printf("on %d off %d dispatched %u\n", on, off, dispatched);
  }
  const int wrong = prctl(PR_SET_SYSCALL_USER_DISPATCH, 7, 0, 0, 0);
  std::printf("wrong %d errno %d\n", wrong, errno);
  compute();
}

void dispatch_calls() {
  dispatch(compute);
}

// Another thread is not concerned.
void dispatch_beside_a_thread() {
  pthread_t thread;
  pthread_create(&thread, nullptr, compute_in_thread, nullptr);
  dispatch(compute);
  pthread_join(thread, nullptr);
}

void stay_dispatched() {
  struct sigaction action {};
  action.sa_sigaction = on_dispatch;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSYS, &action, nullptr);
  prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, 0, 0, &selector);
  std::printf("on\n");
  std::fflush(stdout);
  selector = SYSCALL_DISPATCH_FILTER_BLOCK;
  for (int i = 0; i < 150; ++i) compute();
  selector = SYSCALL_DISPATCH_FILTER_ALLOW;
  std::printf("dispatched %u\n", dispatched);
}

void forbid_clock() {
  const int set = prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
  compute();
  pthread_t thread;
  pthread_create(&thread, nullptr, compute_in_thread, nullptr);
  pthread_join(thread, nullptr);
  const pid_t child = fork();
  if (child == 0) {
    compute();
    _exit(7);
  }
  int status = 0, setting = 0;
  waitpid(child, &status, 0);
  prctl(PR_GET_TSC, &setting);
  std::printf("set %d setting %d child %d enabled %d\n", set, setting, status,
              prctl(PR_SET_TSC, PR_TSC_ENABLE));
  compute();
}

void forbid_clock_by_syscall() {
  const long set = syscall(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
  compute();
  std::printf("set %ld wrong %d\n", set, prctl(PR_SET_TSC, 9));
}

// A filter, too.
void forbid_clock_and_calls() {
  prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
  few_calls();
}

struct Kind {
  const char* name;
  void (*run)();
  bool only_alone = false;  // not among all kinds
};
constexpr Kind kKinds[] = {
    {"kill", kill_by_prctl},
    {"kill-syscall", kill_by_syscall},
    {"trap", trap},
    {"errno", fail},
    {"two-filters", two_filters},
    {"all-threads", filter_for_all_threads},
    {"thread", filter_in_a_thread},
    {"inline", filter_inline},
    {"inherited", inherited},
    {"image", compute},
    {"refused", refused},
    {"few-calls", few_calls},
    {"dispatch", dispatch_calls},
    {"dispatch-thread", dispatch_beside_a_thread},
    {"dispatched", stay_dispatched, true},
    {"filtered", stay_filtered, true},
    {"clock", forbid_clock},
    {"clock-syscall", forbid_clock_by_syscall},
    {"clock-filter", forbid_clock_and_calls},
};

void run_all() {
  for (const Kind& kind : kKinds) {
    if (kind.only_alone) continue;
    const pid_t child = fork();
    if (child == 0) {
      execl("/proc/self/exe", "confined", kind.name, static_cast<char*>(nullptr));
      _exit(99);
    }
    int status = 0;
    waitpid(child, &status, 0);
    std::printf("%s: %s\n", kind.name,
                WIFSIGNALED(status)        ? strsignal(WTERMSIG(status))
                : WEXITSTATUS(status) == 7 ? "right"
                                           : "wrong status");
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  if (argc < 2) {
    run_all();
    return 0;
  }
  for (const Kind& kind : kKinds) {
    if (std::strcmp(kind.name, argv[1]) != 0) continue;
    kind.run();
    std::fflush(stdout);
    syscall(SYS_exit_group, 7);
  }
  return 2;
}

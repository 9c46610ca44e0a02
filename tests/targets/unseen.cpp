// Threads and processes that are made past the functions which usually make them. Each word is one way; the child ends with 5.
//
//   unseen threads N    N threads by raw clone: each has 30 ms of CPU after the main thread had 150 ms beside one of them
//   unseen WAY          a child with 0.5 s of CPU
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "work.h"

// The same function, by a name that nobody interposes.
extern "C" decltype(clone) __clone;  // NOLINT(readability-identifier-naming)

namespace {

constexpr double kChildSeconds = 0.5, kThreadSeconds = 0.03, kUntilFound = 0.15,
                 kUnexplained = 0.05;
constexpr int kStatus = 5;
constexpr size_t kStack = 1 << 18;
constexpr uint64_t kClearHandlers = 0x100000000;  // CLONE_CLEAR_SIGHAND

std::atomic<bool> first_has_run, may_end;
std::atomic<int> running;
alignas(16) char child_stack[kStack];

__attribute__((noinline)) void burn(double seconds) {
  const double end = work::thread_cpu() + seconds;
  uint64_t value = 1;
  while (work::thread_cpu() < end) value = work::spin(value, 20000);
  asm volatile("" ::"r"(value));
}

// The first one burns meanwhile: CPU that no known thread has is what makes the shim look for others.
int raw_thread(void* first) {
  while (!may_end) {
    if (first != nullptr) {
      burn(0.001);
      first_has_run = first_has_run || work::thread_cpu() > kUnexplained;
    } else {
      const timespec pause{0, 5'000'000};
      nanosleep(&pause, nullptr);
    }
  }
  burn(kThreadSeconds);
  --running;
  syscall(SYS_exit, 0);
  return 0;
}

void make_threads(int count) {
  running = count;
  std::vector<char> stacks(kStack * static_cast<size_t>(count));
  int first = 0;
  for (int i = 0; i < count; ++i) {
    char* const end = stacks.data() + kStack * static_cast<size_t>(i + 1);
    const auto aligned = reinterpret_cast<uintptr_t>(end) & ~uintptr_t{15};
    __clone(raw_thread, reinterpret_cast<void*>(aligned),
            CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM,
            i == 0 ? &first : nullptr);
  }
  while (!first_has_run) burn(0.005);
  burn(kUntilFound);
  may_end = true;
  while (running > 0) {
    const timespec pause{0, 5'000'000};
    nanosleep(&pause, nullptr);
  }
}

int child(void*) {
  burn(kChildSeconds);
  return kStatus;
}

pid_t clone_child(int flags) {
  return clone(child, child_stack + kStack, flags, nullptr);
}

// As fork() returns.
pid_t raw_child(long number, uint64_t flags) {
  uint64_t arguments[8] = {flags, 0, 0, 0, SIGCHLD};
  switch (number) {
    case SYS_clone: return static_cast<pid_t>(syscall(number, flags | SIGCHLD, 0, 0, 0, 0));
    case SYS_clone3: return static_cast<pid_t>(syscall(number, arguments, sizeof arguments));
    default: return static_cast<pid_t>(syscall(number));
  }
}

pid_t make_child(std::string_view way) {
  if (way == "clone") return clone_child(SIGCHLD);
  if (way == "clone-shares-memory") return clone_child(CLONE_VM | SIGCHLD);
  pid_t pid = -1;
  if (way == "clone-call") pid = raw_child(SYS_clone, 0);
  if (way == "clone3-call") pid = raw_child(SYS_clone3, 0);
  if (way == "clone3-without-handlers") pid = raw_child(SYS_clone3, kClearHandlers);
#ifdef SYS_fork
  if (way == "fork-call") pid = raw_child(SYS_fork, 0);
#endif
  if (way == "vfork") pid = vfork();  // NOLINT(clang-analyzer-security.insecureAPI.vfork): the case
  if (pid == 0) {
    burn(kChildSeconds);  // NOLINT(clang-analyzer-unix.Vfork): the case
    _exit(kStatus);
  }
  return pid;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2) {
    make_threads(std::atoi(argv[2]));
    return 0;
  }
  if (argc < 2) return 2;
  const pid_t pid = make_child(argv[1]);
  int status = 0;
  if (pid <= 0 || waitpid(pid, &status, __WALL) != pid) return 1;
  std::printf("status %d\n", WEXITSTATUS(status));
}

// Two named threads and the main thread use CPU, then the process ends as asked. Before it ends, each
// process prints "cpu PID SECONDS": its own CPU so far.
//
//   ends KIND    exit _exit quick_exit return abort sigterm sigsegv sigkill pthread_exit exec
//                fork-exit fork-_exit vfork-exec
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "work.h"

namespace {

constexpr double kSeconds = 0.3;

void* run(void* name) {
  pthread_setname_np(pthread_self(), static_cast<const char*>(name));
  work::burn(kSeconds);
  return nullptr;
}

void say_cpu() {
  std::printf("cpu %d %.6f\n", getpid(), work::process_cpu());
  std::fflush(stdout);
}

void work_in_threads() {
  pthread_t first, second;
  char names[2][16] = {"worker-a", "worker-b"};
  pthread_create(&first, nullptr, run, names[0]);
  pthread_create(&second, nullptr, run, names[1]);
  work::burn(kSeconds);
  pthread_join(first, nullptr);
  pthread_join(second, nullptr);
}

void* run_after_main(void*) {
  pthread_setname_np(pthread_self(), "survivor");
  work::burn(kSeconds);
  say_cpu();
  std::exit(5);
}

[[noreturn]] void exec_self(const char* self) {
  say_cpu();
  execl(self, self, "exit", static_cast<char*>(nullptr));
  _exit(99);
}

int end_with_child(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  say_cpu();
  return WIFEXITED(status) ? WEXITSTATUS(status) + 1 : 98;
}

}  // namespace

int main(int argc, char** argv) {
  const char* kind = argc > 1 ? argv[1] : "return";
  const auto is = [&](const char* name) { return std::strcmp(kind, name) == 0; };
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  work_in_threads();

  if (is("fork-exit") || is("fork-_exit")) {
    const pid_t child = fork();
    if (child != 0) return end_with_child(child);
    work_in_threads();
    say_cpu();
    if (is("fork-exit")) std::exit(3);
    _exit(3);
  }
  if (is("vfork-exec")) {
    const pid_t child = vfork();
    if (child == 0) {
      execl("/proc/self/exe", argv[0], "exit", static_cast<char*>(nullptr));
      _exit(99);
    }
    return end_with_child(child);
  }
  if (is("exec")) exec_self("/proc/self/exe");
  if (is("pthread_exit")) {
    pthread_t survivor;
    pthread_create(&survivor, nullptr, run_after_main, nullptr);
    pthread_exit(nullptr);
  }
  say_cpu();
  if (is("exit")) std::exit(3);
  if (is("_exit")) _exit(3);
  if (is("quick_exit")) std::quick_exit(3);
  if (is("abort")) std::abort();
  if (is("sigterm")) raise(SIGTERM);
  if (is("sigkill")) raise(SIGKILL);
  if (is("sigsegv")) {
    volatile uintptr_t nowhere = 16;
    *reinterpret_cast<volatile int*>(nowhere) = 1;
  }
  return 3;
}

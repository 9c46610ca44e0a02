// The program that the tests of the shim run. Each word is something that programs do.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

// The same function, by a name that is not interposed.
extern "C" decltype(clone) __clone;  // NOLINT(readability-identifier-naming)

namespace {

char* self;
std::vector<char*> words;  // after the first

// Uses that much CPU in the calling thread.
__attribute__((noinline)) void burn(unsigned milliseconds) {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  const long long end = now.tv_sec * 1'000'000'000ll + now.tv_nsec + milliseconds * 1'000'000ll;
  volatile unsigned sink = 0;
  do {
    for (unsigned i = 0; i < 200'000; ++i) sink = sink + i;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  } while (now.tv_sec * 1'000'000'000ll + now.tv_nsec < end);
}

void* named(void* name) {
  pthread_setname_np(pthread_self(), static_cast<const char*>(name));
  burn(name == nullptr ? 0 : 200);
  return nullptr;
}

void threads() {
  pthread_t a, b;
  pthread_create(&a, nullptr, named, const_cast<char*>("worker-a"));
  pthread_create(&b, nullptr, named, const_cast<char*>("worker-b"));
  pthread_join(a, nullptr);
  pthread_join(b, nullptr);
}

void thread_ends() {
  pthread_t thread;
  pthread_create(
      &thread, nullptr,
      [](void*) -> void* {
        burn(60);
        pthread_exit(nullptr);
      },
      nullptr);
  pthread_join(thread, nullptr);
  pthread_create(
      &thread, nullptr,
      [](void*) -> void* {
        burn(60);
        for (;;) pause();
      },
      nullptr);
  usleep(150'000);
  pthread_cancel(thread);
  pthread_join(thread, nullptr);
}

int raw_thread(void* milliseconds) {
  burn(*static_cast<unsigned*>(milliseconds));
  syscall(SYS_exit, 0);
  return 0;
}

// Makes a thread that no pthread function knows, by `make`, while the main thread burns too.
void clone_by(decltype(clone)* make, unsigned milliseconds) {
  static char stack[1 << 16] __attribute__((aligned(16)));
  const int tid =
      make(raw_thread, stack + sizeof stack,
           CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM,
           &milliseconds, nullptr, nullptr, nullptr);
  burn(milliseconds);
  // Until the kernel has no such thread: CLONE_CHILD_CLEARTID would tell earlier.
  while (syscall(SYS_tgkill, getpid(), tid, 0) == 0) usleep(1000);
}

void fork_and_wait() {
  burn(80);
  const pid_t pid = fork();
  if (pid == 0) {
    burn(120);
    _exit(3);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  printf("%d\n", WEXITSTATUS(status));
}

// A fork that no wrapper sees.
void raw_fork() {
  const long pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
  if (pid == 0) {
    pthread_setname_np(pthread_self(), "raw-child");
    burn(120);
    _exit(0);
  }
  waitpid(static_cast<pid_t>(pid), nullptr, 0);
}

void exec_with_empty_environment() {
  burn(40);
  char* arguments[] = {self, const_cast<char*>("burn"), const_cast<char*>("100"), nullptr};
  char* environment[] = {nullptr};
  execve("/nonexistent", arguments, environment);
  execve(self, arguments, environment);
}

// Executes words[0] so that it prints its environment, in the way that the word says.
void execute_file(const char* how) {
  const std::string path = words[0];
  const std::string folder = path.substr(0, path.rfind('/')), name = path.substr(folder.size() + 1);
  char* arguments[] = {words[0], const_cast<char*>("environment"), nullptr};
  const bool by_path = strcmp(how, "fexecve_by_path") == 0;
  const int file = open(words[0], (by_path ? O_PATH : O_RDONLY) | O_CLOEXEC);
  const int directory = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (chdir("/") != 0) return;
  if (strcmp(how, "execve") == 0) execve(words[0], arguments, environ);
  if (strncmp(how, "fexecve", 7) == 0) fexecve(file, arguments, environ);
  if (strcmp(how, "execveat") == 0) execveat(directory, name.c_str(), arguments, environ, 0);
  if (strcmp(how, "execveat_file") == 0) execveat(file, "", arguments, environ, AT_EMPTY_PATH);
  perror(how);
}

// Leaves a handler on a small alternate stack by a jump when no descriptor can be had any more.
void jump_without_descriptors() {
  static char stack[16 << 10];
  static sigjmp_buf target;
  burn(100);
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = 16;
  setrlimit(RLIMIT_NOFILE, &files);
  stack_t alternate{};
  alternate.ss_sp = stack;
  alternate.ss_size = sizeof stack;
  sigaltstack(&alternate, nullptr);
  struct sigaction action {};
  action.sa_flags = SA_ONSTACK;
  action.sa_handler = [](int) { siglongjmp(target, 1); };
  sigaction(SIGUSR1, &action, nullptr);
  if (sigsetjmp(target, 1) == 0) raise(SIGUSR1);
  burn(300);
}

void vfork_exec() {
  char* arguments[] = {self, const_cast<char*>("burn"), const_cast<char*>("100"), nullptr};
  const pid_t pid = vfork();  // NOLINT(clang-analyzer-security.insecureAPI.vfork): what is tested
  if (pid == 0) {
    execv(self, arguments);
    _exit(127);
  }
  waitpid(pid, nullptr, 0);
  burn(50);
}

void spawn() {
  char* arguments[] = {self, const_cast<char*>("burn"), const_cast<char*>("100"), nullptr};
  char* environment[] = {const_cast<char*>("LD_PRELOAD="), nullptr};
  pid_t pid = 0;
  posix_spawn(&pid, self, nullptr, nullptr, arguments, environment);
  waitpid(pid, nullptr, 0);
}

// Prints the numbers of its open descriptors.
void descriptors() {
  burn(30);
  for (int fd = 0; fd < 4096; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0) printf("%d ", fd);
  }
  printf("next %d\n", open("/dev/null", O_RDONLY));
}

void open_and_close() {
  for (int i = 0; i < 5; ++i) {
    void* library = dlopen(words[0], RTLD_NOW);
    if (library == nullptr) {
      printf("%s\n", dlerror());
      exit(1);
    }
    dlclose(library);
  }
}

void storm() {
  std::vector<std::thread> burners;
  for (int i = 0; i < 2; ++i) burners.emplace_back([] { burn(600); });
  for (int i = 0; i < 300; ++i) {
    std::thread([] { burn(1); }).join();
  }
  for (auto& thread : burners) thread.join();
}

void environment() {
  for (const char* name : {"LD_PRELOAD", "SAMPAN", "SAMPAN_SESSION"}) {
    printf("%s=%s\n", name, getenv(name) != nullptr ? getenv(name) : "");
  }
}

}  // namespace

int main(int count, char** arguments) {
  self = arguments[0];
  words.assign(arguments + 2, arguments + count);
  const struct {
    const char* word;
    void (*act)();
  } acts[] = {
      {"burn", [] { burn(static_cast<unsigned>(atoi(words[0]))); }},
      {"threads", threads},
      {"thread_ends", thread_ends},
      {"clone", [] { clone_by(clone, 200); }},
      {"raw_clone", [] { clone_by(__clone, 800); }},
      {"fork", fork_and_wait},
      {"raw_fork", raw_fork},
      {"exec", exec_with_empty_environment},
      {"execve", [] { execute_file("execve"); }},
      {"fexecve", [] { execute_file("fexecve"); }},
      {"fexecve_by_path", [] { execute_file("fexecve_by_path"); }},
      {"execveat", [] { execute_file("execveat"); }},
      {"execveat_file", [] { execute_file("execveat_file"); }},
      {"jump_without_descriptors", jump_without_descriptors},
      {"vfork", vfork_exec},
      {"spawn", spawn},
      {"descriptors", descriptors},
      {"dlopen", open_and_close},
      {"dlerror",
       [] {
         const char* error = dlerror();
         printf("%s\n", error != nullptr ? error : "none");
       }},
      {"storm", storm},
      {"environment", environment},
      {"exit",
       [] {
         burn(50);
         exit(7);
       }},
      {"_exit",
       [] {
         burn(50);
         _exit(8);
       }},
      {"quick_exit",
       [] {
         burn(50);
         quick_exit(9);
       }},
      {"main_pthread_exit",
       [] {
         std::thread([] {
           usleep(100'000);
           burn(50);
         }).detach();
         burn(50);
         pthread_exit(nullptr);
       }},
  };
  for (const auto& act : acts) {
    if (strcmp(act.word, arguments[1]) == 0) {
      act.act();
      return 0;
    }
  }
  return 99;
}

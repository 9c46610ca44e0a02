#include "preload/standalone.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include <span>

#include "base/syscall.h"
#include "preload/environment.h"
#include "preload/session.h"
#include "preload/spin_lock.h"
#include "wire/session.h"

namespace sampan::preload {
namespace {

constexpr int kPatienceMs = 2'000;

// Appends; what does not fit makes the path useless, and so the program not found.
void append(std::span<char> buffer, const char* text) {
  const size_t used = strnlen(buffer.data(), buffer.size());
  const size_t length = strlen(text);
  if (used + length < buffer.size()) memcpy(buffer.data() + used, text, length + 1);
}

// The program beside the shim (a build directory), or in bin/ of the prefix whose lib/sampan/ the
// shim is in.
bool find_program(std::span<char> path) {
  constexpr const char* kPlaces[] = {"/sampan", "/../../bin/sampan", "/../bin/sampan",
                                     "/../../../bin/sampan"};
  char folder[PATH_MAX] = ".";
  if (const char* slash = strrchr(shim_path(), '/')) {
    const auto length = static_cast<size_t>(slash - shim_path());
    memcpy(folder, shim_path(), length);
    folder[length] = '\0';
  }
  for (const char* place : kPlaces) {
    path[0] = '\0';
    append(path, folder);
    append(path, place);
    if (raw_syscall(SYS_access, path.data(), X_OK) == 0) return true;
  }
  return false;
}

void make_name(std::span<char> name) {
  uint8_t random[16];
  raw_syscall(SYS_getrandom, random, sizeof random, 0);
  append(name, "sampan-");
  for (const uint8_t byte : random) {
    const char digits[] = {"0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15], '\0'};
    append(name, digits);
  }
}

void write_number(char* text, int number) {
  char digits[12];
  int count = 0;
  do {
    digits[count++] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number != 0);
  while (count > 0) *text++ = digits[--count];
  *text = '\0';
}

// In the grandchild: becomes the collector. It keeps stderr, for the page, and the directory.
[[noreturn]] void become_collector(const char* program, const char* name, const char* parent) {
  const long null = raw_syscall(SYS_open, "/dev/null", O_RDWR);
  raw_syscall(SYS_dup2, null, STDIN_FILENO);
  raw_syscall(SYS_dup2, null, STDOUT_FILENO);
  raw_syscall(SYS_close_range, 3, ~0u, 0);
  raw_syscall(SYS_setsid);
  // Without the shim in the collector itself.
  char** kept = environ;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (strncmp(*variable, "LD_PRELOAD=", 11) != 0 && strncmp(*variable, "SAMPAN=", 7) != 0) {
      *kept++ = *variable;
    }
  }
  *kept = nullptr;
  const char* arguments[] = {program,        "collect", "--session", name,
                             "--parent-pid", parent,    nullptr};
  raw_syscall(SYS_execve, program, arguments, environ);
  raw_syscall(SYS_exit_group, 127);
  __builtin_unreachable();
}

// By clone without a signal: the program sees no child, and wait() of its own none either.
bool start(const char* program, const char* name) {
  char parent[12];
  write_number(parent, static_cast<int>(raw_syscall(SYS_getpid)));
  const SignalsBlocked blocked;
  const long child = raw_syscall(SYS_clone, 0, 0, 0, 0, 0);
  if (child == 0) {
    if (raw_syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) == 0) {
      const uint64_t none = 0;
      raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, nullptr, sizeof none);
      become_collector(program, name, parent);
    }
    raw_syscall(SYS_exit_group, 0);
  }
  return child > 0 && raw_syscall(SYS_wait4, child, nullptr, __WALL, nullptr) == child;
}

}  // namespace

bool start_collector() {
  char program[PATH_MAX];
  char name[wire::kSessionNameSize + 1] = {};
  if (!find_program(program)) return false;
  make_name(name);
  if (!start(program, name) || !wait_for_collector(name, kPatienceMs)) return false;
  set_session_name(name);
  setenv(wire::kEnvironmentSession, name, 1);
  return true;
}

}  // namespace sampan::preload

// The exec family and posix_spawn: the session goes on in the new image, whatever environment the
// program gives it.
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <unistd.h>

#include "preload/executing.h"
#include "preload/interpose.h"
#include "preload/process.h"
#include "preload/sampling_signal.h"

namespace sampan::preload {
namespace {

// `call` executes with the environment it is given, and returns only on failure.
template <typename F>
int execute(const char* path, bool search, char* const* environment, F&& call) {
  if (!hands_on_session()) return call(environment);
  const bool profiled = profiles_image(path, search, false);
  const Executing executing(path);
  return with_environment(environment, profiled, call);
}

int execute_at(const char* path, char* const* arguments, char* const* environment) {
  return execute(path, false, environment,
                 [&](char* const* made) { return SAMPAN_NEXT(execve)(path, arguments, made); });
}

int execute_in_path(const char* file, char* const* arguments, char* const* environment) {
  return execute(file, true, environment,
                 [&](char* const* made) { return SAMPAN_NEXT(execvpe)(file, arguments, made); });
}

template <typename F>
int spawn(const char* path, bool search, char* const* environment, F&& call) {
  if (!hands_on_session()) return call(environment);
  const bool profiled = profiles_image(path, search, true);
  show_program_mask_to_kernel();
  const int result = with_environment(environment, profiled, call);
  hide_program_mask_again();
  return result;
}

// The arguments of execl and its kin, as an array on the stack; `list` goes on behind the null.
#define SAMPAN_COLLECT_ARGUMENTS(first, list, arguments)                      \
  va_list counting;                                                           \
  va_start(list, first);                                                      \
  va_copy(counting, list);                                                    \
  size_t count = 1;                                                           \
  while (va_arg(counting, char*) != nullptr) ++count;                         \
  va_end(counting);                                                           \
  auto* arguments = static_cast<char**>(alloca((count + 1) * sizeof(char*))); \
  arguments[0] = const_cast<char*>(first);                                    \
  for (size_t i = 1; i <= count; ++i) arguments[i] = va_arg(list, char*)

}  // namespace
}  // namespace sampan::preload

using namespace sampan::preload;

SAMPAN_EXPORT int execve(const char* path, char* const* arguments,
                         char* const* environment) noexcept {
  return execute_at(path, arguments, environment);
}

SAMPAN_EXPORT int execv(const char* path, char* const* arguments) noexcept {
  return execute_at(path, arguments, environ);
}

SAMPAN_EXPORT int execvp(const char* file, char* const* arguments) noexcept {
  return execute_in_path(file, arguments, environ);
}

SAMPAN_EXPORT int execvpe(const char* file, char* const* arguments,
                          char* const* environment) noexcept {
  return execute_in_path(file, arguments, environment);
}

SAMPAN_EXPORT int execl(const char* path, const char* first, ...) noexcept {
  va_list list;
  SAMPAN_COLLECT_ARGUMENTS(first, list, arguments);
  va_end(list);
  return execute_at(path, arguments, environ);
}

SAMPAN_EXPORT int execlp(const char* file, const char* first, ...) noexcept {
  va_list list;
  SAMPAN_COLLECT_ARGUMENTS(first, list, arguments);
  va_end(list);
  return execute_in_path(file, arguments, environ);
}

SAMPAN_EXPORT int execle(const char* path, const char* first, ...) noexcept {
  va_list list;
  SAMPAN_COLLECT_ARGUMENTS(first, list, arguments);
  char* const* environment = va_arg(list, char* const*);
  va_end(list);
  return execute_at(path, arguments, environment);
}

SAMPAN_EXPORT int fexecve(int fd, char* const* arguments, char* const* environment) noexcept {
  return execute(nullptr, false, environment,
                 [&](char* const* made) { return SAMPAN_NEXT(fexecve)(fd, arguments, made); });
}

SAMPAN_EXPORT int execveat(int directory, const char* path, char* const* arguments,
                           char* const* environment, int flags) noexcept {
  return execute(path, false, environment, [&](char* const* made) {
    return SAMPAN_NEXT(execveat)(directory, path, arguments, made, flags);
  });
}

SAMPAN_EXPORT int posix_spawn(pid_t* pid, const char* path,
                              const posix_spawn_file_actions_t* actions,
                              const posix_spawnattr_t* attributes, char* const* arguments,
                              char* const* environment) {
  return spawn(path, false, environment, [&](char* const* made) {
    return SAMPAN_NEXT(posix_spawn)(pid, path, actions, attributes, arguments, made);
  });
}

SAMPAN_EXPORT int posix_spawnp(pid_t* pid, const char* file,
                               const posix_spawn_file_actions_t* actions,
                               const posix_spawnattr_t* attributes, char* const* arguments,
                               char* const* environment) {
  return spawn(file, true, environment, [&](char* const* made) {
    return SAMPAN_NEXT(posix_spawnp)(pid, file, actions, attributes, arguments, made);
  });
}

// The exec family and posix_spawn: the session continues in the new image, whatever environment the
// program gives it. Safe in a vfork child: no memory but the caller's stack.
#include <alloca.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "base/syscall.h"
#include "preload/interposers/image.h"
#include "preload/interposers/process_life.h"
#include "preload/modules/modules.h"
#include "preload/process/environment.h"
#include "preload/process/outside.h"
#include "preload/process/process.h"
#include "preload/process/session.h"
#include "preload/signals/sampling_signal.h"
#include "preload/support/interpose.h"
#include "preload/threads/threads.h"
#include "wire/session.h"

namespace sampan::preload {
namespace {

// Whether this process has joined a session, which the images that it executes inherit.
bool hands_on_session() {
  return this_process.shared != nullptr;
}

// A new root (chroot) may not have it, and a new user may not read it. The loader would say so on the program's stderr.
bool finds_shim() {
  const long fd = raw_syscall(SYS_openat, AT_FDCWD, shim_path(), O_RDONLY | O_CLOEXEC);
  if (fd >= 0) raw_syscall(SYS_close, fd);
  return fd >= 0;
}

// How the image is to be executed. `spawned`: in a new process.
struct Plan {
  bool profiled;  // by the shim
  RuntimeName runtime;
  bool is_lost;       // it should be profiled, and the shim cannot
  wire::Loss reason;  // then
  bool asks;          // then: for an engine that samples it from outside, and what it executes
};
Plan plan_for(const ImageFile& image, bool spawned) {
  // The filter would be on the new image too, and its shim would not know.
  if (this_process.seccomp_filtered.load(std::memory_order_relaxed)) return {};
  const bool wanted =
      this_process.follow || (!spawned && raw_syscall(SYS_getpid) == this_process.session_pid);
  if (!wanted) return {};
  const Examined examined = examine_image(image);
  if (!examined.runs_shim) {
    // Other engines than perf stop a process when they attach.
    const bool asks = this_process.perf && this_process.started.load();
    return {examined.takes_shim && !asks, {}, true, wire::Loss::kProcessStatic, asks};
  }
  if (!examined.takes_shim) return {};
  const bool asks = !spawned && active() && !in_vfork_child();
  if (!finds_shim()) return {false, {}, true, wire::Loss::kProcessNoShim, asks};
  if (!can_join_from_here()) return {false, {}, true, wire::Loss::kProcessNotJoined, asks};
  return {true, examined.runtime, false, {}, false};
}

// What the shim cannot profile is profiled from outside, if possible, or counted. `pid`: of a child that is about
// to execute it, or has just been spawned; 0: this process is about to.
void leave_to_engine(const Plan& plan, wire::Outside wanted, int pid) {
  if (plan.is_lost && !(plan.asks && ask_for_engine(wanted, pid))) count_loss(plan.reason);
}

// Whether the program has begun a recording of its own (sampan under sampan) that this image is to join.
bool has_other_session(char* const* environment) {
  const char* const name = find_variable(environment, wire::kEnvironmentSession);
  if (this_process.seccomp_filtered.load(std::memory_order_relaxed)) return false;
  return name != nullptr && strcmp(name, session_name()) != 0 && reaches_collector(name);
}

// Calls `call` with the environment that is right for the image.
template <typename F>
int with_environment(char* const* given, const Plan& plan, F&& call) {
  const EnvironmentSize size = size_of_environment(given);
  auto* pointers = static_cast<char**>(alloca(size.pointers * sizeof(char*)));
  auto* text = static_cast<char*>(alloca(size.text));
  return call(make_environment(given, plan.profiled, plan.runtime.c_str(),
                               {pointers, size.pointers}, {text, size.text}));
}

// The new image inherits the mask that the program set. Both touch only the calling thread's own
// state.
void show_program_mask_to_kernel() {
  if (const SignalState* state = current_signals(); state != nullptr) {
    change_kernel_mask(SIG_BLOCK, state->hidden.load(std::memory_order_relaxed));
  }
}

void hide_program_mask_again() {
  if (const SignalState* state = current_signals(); state != nullptr) {
    change_kernel_mask(SIG_UNBLOCK,
                       state->hidden.load(std::memory_order_relaxed) & hidden_signals());
  }
}

// A pending signal that stays pending on exec would end the new image, which has the default action
// for it.
void stop_clocks() {
  const uint64_t sampling = signal_bit(sampling_signal());
  const uint64_t before = change_kernel_mask(SIG_BLOCK, sampling);
  disarm_all_threads();
  constexpr timespec kNow{};
  while (raw_syscall(SYS_rt_sigtimedwait, &sampling, nullptr, &kNow, kKernelSetSize) > 0) {
  }
  change_kernel_mask(SIG_SETMASK, before);
}

// This image is about to be replaced by `path`: everything is recorded, and no signal of ours that
// would end the new image stays pending. After a failed exec, sampling goes on.
class Executing {
 public:
  explicit Executing(const char* path) {
    own_image_ = active() && !in_vfork_child();
    if (own_image_) {
      // Before what this image has loaded is forgotten.
      if (!this_process.loader_may_be_locked) renew_modules();
      record_live_threads();
      const size_t length = path != nullptr ? strnlen(path, PATH_MAX) : 0;
      write_process_record(wire::RecordType::kExec, {}, {path, length}, wire::Loss::kModuleRecord);
      this_process.executing.store(true, std::memory_order_relaxed);
      if (clock_signals_outlive_exec()) stop_clocks();
    }
    show_program_mask_to_kernel();
  }
  // exec has failed; errno is kept.
  ~Executing() {
    const int saved_errno = errno;
    hide_program_mask_again();
    if (own_image_) {
      write_process_record(wire::RecordType::kExecFailed, {}, {}, wire::Loss::kModuleRecord);
      if (clock_signals_outlive_exec()) rearm_all_threads();
      this_process.executing.store(false, std::memory_order_relaxed);
    }
    errno = saved_errno;
  }
  Executing(const Executing&) = delete;
  Executing& operator=(const Executing&) = delete;

 private:
  bool own_image_;  // not a vfork child's
};

// `call` executes with the environment that it is given, and returns only on failure.
template <typename F>
int execute(const ImageFile& image, char* const* environment, F&& call) {
  if (!hands_on_session()) return call(environment);
  const bool is_others = has_other_session(environment);
  const Plan plan = is_others ? Plan{} : plan_for(image, false);
  const Executing executing(image.path);
  if (is_others) {
    count_loss(wire::Loss::kProcessNotJoined);
    return call(environment);
  }
  const int child = in_vfork_child() ? static_cast<int>(raw_syscall(SYS_getpid)) : 0;
  leave_to_engine(plan, wire::Outside::kImage, child);
  return with_environment(environment, plan, call);
}

int execute_at(const char* path, char* const* arguments, char* const* environment) {
  const ImageFile image{.path = path, .arguments = arguments, .environment = environment};
  return execute(image, environment,
                 [&](char* const* made) { return SAMPAN_NEXT(execve)(path, arguments, made); });
}

int execute_in_path(const char* file, char* const* arguments, char* const* environment) {
  const ImageFile image{
      .path = file, .search_in_path = true, .arguments = arguments, .environment = environment};
  return execute(image, environment,
                 [&](char* const* made) { return SAMPAN_NEXT(execvpe)(file, arguments, made); });
}

// `call` is given where to put the process's number, too.
template <typename F>
int spawn(const ImageFile& image, pid_t* pid, char* const* environment, F&& call) {
  if (!hands_on_session()) return call(pid, environment);
  const bool is_others = has_other_session(environment);
  const Plan plan = is_others ? Plan{} : plan_for(image, true);
  if (is_others) count_loss(wire::Loss::kProcessNotJoined);
  pid_t unasked;
  pid_t* const child = pid != nullptr ? pid : &unasked;
  show_program_mask_to_kernel();
  const auto spawn_with = [&](char* const* made) { return call(child, made); };
  const int result =
      is_others ? spawn_with(environment) : with_environment(environment, plan, spawn_with);
  hide_program_mask_again();
  if (result == 0) leave_to_engine(plan, wire::Outside::kProgram, *child);
  return result;
}

// Collects the arguments of execl and the like in an array on the stack. `list` continues after the
// null.
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
  const ImageFile image{.path = "",
                        .directory = fd,
                        .flags = AT_EMPTY_PATH,
                        .arguments = arguments,
                        .environment = environment};
  return execute(image, environment,
                 [&](char* const* made) { return SAMPAN_NEXT(fexecve)(fd, arguments, made); });
}

SAMPAN_EXPORT int execveat(int directory, const char* path, char* const* arguments,
                           char* const* environment, int flags) noexcept {
  const ImageFile image{.path = path,
                        .directory = directory,
                        .flags = flags,
                        .arguments = arguments,
                        .environment = environment};
  return execute(image, environment, [&](char* const* made) {
    return SAMPAN_NEXT(execveat)(directory, path, arguments, made, flags);
  });
}

SAMPAN_EXPORT int posix_spawn(pid_t* pid, const char* path,
                              const posix_spawn_file_actions_t* actions,
                              const posix_spawnattr_t* attributes, char* const* arguments,
                              char* const* environment) {
  const ImageFile image{.path = path, .arguments = arguments, .environment = environment};
  return spawn(image, pid, environment, [&](pid_t* child, char* const* made) {
    return SAMPAN_NEXT(posix_spawn)(child, path, actions, attributes, arguments, made);
  });
}

SAMPAN_EXPORT int posix_spawnp(pid_t* pid, const char* file,
                               const posix_spawn_file_actions_t* actions,
                               const posix_spawnattr_t* attributes, char* const* arguments,
                               char* const* environment) {
  const ImageFile image{
      .path = file, .search_in_path = true, .arguments = arguments, .environment = environment};
  return spawn(image, pid, environment, [&](pid_t* child, char* const* made) {
    return SAMPAN_NEXT(posix_spawnp)(child, file, actions, attributes, arguments, made);
  });
}

// Starts the program, with the shim preloaded, passes signals on to it, and says how it ended. The
// program gets the stdin, stdout, stderr, terminal, process group, signal mask and dispositions
// that sampan was started with.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "sampler/process/cpu_accounting.h"
#include "sampler/process/own_limits.h"

namespace sampan::sampler {

// A signal that is sent to sampan is meant for the program that it runs. The terminal sends its
// signals (Ctrl-C, hang-up) to the whole process group, so the program has them already. A signal
// that `kill` sends to sampan alone is passed on. Signals that stop and continue processes are not
// touched: they work for both.
class SignalRelay {
 public:
  // From now on signals wait until they are read. Throws Error.
  SignalRelay();
  ~SignalRelay();  // restores mask and dispositions
  SignalRelay(const SignalRelay&) = delete;
  SignalRelay& operator=(const SignalRelay&) = delete;

  // For the forked child before exec: mask and dispositions as sampan found them.
  // Async-signal-safe.
  void restore() const;

  // From now on this signal calls `call`, and is not passed on.
  void take(int signal, std::function<void()> call);

  int fd() const { return fd_.get(); }
  // Sends the signals that have come to `pid`, which must not have been waited for.
  void pass_on(pid_t pid);

 private:
  sigset_t inherited_mask_;
  struct sigaction inherited_pipe_, inherited_child_;
  FileDescriptor fd_;
  int taken_ = 0;
  std::function<void()> call_;
};

struct LaunchedProgram {
  pid_t pid;
  FileDescriptor pidfd;  // readable when the program has ended
};

struct LaunchOptions {
  std::vector<std::string> command;  // as typed; not empty
  std::string shim;                  // path of libsampan_preload.so; empty: not preloaded
  std::string session;               // the socket's name
  bool follow;                       // children too
  // The program's, "NAME=value", to which the variables of the shim are added; absent: ours.
  std::optional<std::vector<std::string>> environment = {};
  // Called with the child, which executes the program only after this has returned. When this throws,
  // the child is killed.
  std::function<void(const LaunchedProgram&)> before_exec = {};
};

// The program could not be executed. `exit_status` is a shell's: 127 when it was not found, 126
// when it cannot be executed.
class LaunchError : public Error {
 public:
  template <typename... Args>
  explicit LaunchError(int status, fmt::format_string<Args...> format, Args&&... args)
      : Error(format, std::forward<Args>(args)...), exit_status(status) {}
  const int exit_status;
};

// The loader ends a path in LD_PRELOAD at each of these.
constexpr const char* kEndsOfPreloaded = ": \t\n";

// Throws LaunchError, or Error when the shim's path cannot be preloaded or the kernel refuses a process or a
// descriptor: no program runs then.
LaunchedProgram launch(const LaunchOptions& options, const SignalRelay& signals,
                       const OwnLimits& limits);

// Becomes the program, without the shim. Throws LaunchError.
[[noreturn]] void become(const LaunchOptions& options);

struct ProgramEnd {
  ExitState exit;
  uint64_t user_cpu_ns, system_cpu_ns;  // of the program and all that it waited for
};
// Waits until the program has ended, and reaps it.
ProgramEnd wait_for(const LaunchedProgram& program);

// Ends this process as the program ended: returns the exit status to exit with, or dies by the
// same signal (without a core of its own).
int exit_like(const ExitState& exit);

}  // namespace sampan::sampler

// Starts the program with the shim preloaded, and tells how it ended. Its stdin, stdout, stderr,
// terminal, process group, signal mask and dispositions are those that sampan was started with.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "sampler/cpu_accounting.h"
#include "sampler/file_descriptor.h"
#include "sampler/signal_relay.h"

namespace sampan::sampler {

struct LaunchOptions {
  std::vector<std::string> command;  // as typed; not empty
  std::string shim;                  // path of libsampan_preload.so; empty: not preloaded
  std::string session;               // the socket's name
  bool follow;                       // children too
  // Called with the pid of the child, which waits to execute the program until this returns. The
  // child is ended when it throws.
  std::function<void(pid_t)> before_exec = {};
};

// The program could not be executed. `exit_status` is what a shell would say: 127 when it was not
// found, 126 when it cannot be executed.
class LaunchError : public Error {
 public:
  template <typename... Args>
  explicit LaunchError(int status, fmt::format_string<Args...> format, Args&&... args)
      : Error(format, std::forward<Args>(args)...), exit_status(status) {}
  const int exit_status;
};

struct LaunchedProgram {
  pid_t pid;
  FileDescriptor pidfd;  // readable when the program has ended
};

// Throws LaunchError, or Error when the shim's path cannot be preloaded or fork fails.
LaunchedProgram launch(const LaunchOptions& options, const SignalRelay& signals);

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

#include "sampler/launch.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "sampler/program.h"
#include "wire/session.h"

namespace sampan::sampler {
namespace {

constexpr int kNotFound = 127;
constexpr int kNotExecutable = 126;

bool is_ours(std::string_view variable) {
  const std::string_view name = variable.substr(0, variable.find('='));
  return name == "LD_PRELOAD" || name == wire::kEnvironmentEnable ||
         name == wire::kEnvironmentSession || name == wire::kEnvironmentFollow;
}

// sampan's own environment, with what makes the loader and the shim do their part.
std::vector<std::string> environment_for(const LaunchOptions& options) {
  std::vector<std::string> environment;
  if (options.shim.empty()) {
    for (char** variable = environ; *variable != nullptr; ++variable) {
      environment.emplace_back(*variable);
    }
    return environment;
  }
  std::string preload = "LD_PRELOAD=" + options.shim;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    if (!is_ours(text)) {
      environment.emplace_back(text);
    } else if (text.starts_with("LD_PRELOAD=") && text.size() > std::strlen("LD_PRELOAD=")) {
      preload.append(":").append(text.substr(std::strlen("LD_PRELOAD=")));
    }
  }
  environment.push_back(preload);
  environment.push_back(std::string(wire::kEnvironmentEnable) + "=1");
  environment.push_back(std::string(wire::kEnvironmentSession) + "=" + options.session);
  environment.push_back(std::string(wire::kEnvironmentFollow) + (options.follow ? "=1" : "=0"));
  return environment;
}

std::vector<char*> pointers_to(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (const std::string& string : strings) pointers.push_back(const_cast<char*>(string.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

[[noreturn]] void refuse(const std::string& program, int error) {
  const std::string file = find_program(program);
  std::string missing;
  if (error == ENOENT && !file.empty() && resolve_interpreter(file, missing).empty()) {
    throw LaunchError(kNotFound, "{}: its interpreter {} was not found", program, missing);
  }
  if (error == ENOENT && !file.empty()) {
    throw LaunchError(kNotFound, "{}: the loader that it asks for was not found", program);
  }
  if (error == ENOENT) throw LaunchError(kNotFound, "{}: command not found", program);
  throw LaunchError(error == ENOTDIR ? kNotFound : kNotExecutable, "{}: cannot be executed: {}",
                    program, error == EISDIR ? "it is a directory" : std::strerror(error));
}

// A pipe that is closed by exec.
struct Pipe {
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw Error("starting the program: {}", std::strerror(errno));
    reader = FileDescriptor(ends[0]);
    writer = FileDescriptor(ends[1]);
  }
  FileDescriptor reader, writer;
};

// Reads until there is something, or the writers are gone. Async-signal-safe.
template <typename T>
bool receive(const FileDescriptor& reader, T& value) {
  ssize_t size;
  do size = read(reader.get(), &value, sizeof value);
  while (size < 0 && errno == EINTR);
  return size == static_cast<ssize_t>(sizeof value);
}

void call_before_exec(const LaunchOptions& options, pid_t pid) {
  if (!options.before_exec) return;
  try {
    options.before_exec(pid);
  } catch (...) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    throw;
  }
}

uint64_t nanoseconds(const timeval& time) {
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<uint64_t>(time.tv_usec) * 1'000;
}

}  // namespace

LaunchedProgram launch(const LaunchOptions& options, const SignalRelay& signals) {
  if (options.shim.find_first_of(": \t\n") != std::string::npos) {
    throw Error(
        "{}: the loader cannot preload from a path with spaces or colons; install sampan "
        "elsewhere",
        options.shim);
  }
  const std::vector<std::string> environment = environment_for(options);
  const std::vector<char*> arguments = pointers_to(options.command);
  const std::vector<char*> variables = pointers_to(environment);
  Pipe failure;  // carries errno of an exec that failed
  Pipe gate;     // the child waits until we close it

  const pid_t pid = fork();
  if (pid < 0) throw Error("starting the program: fork: {}", std::strerror(errno));
  if (pid == 0) {
    signals.restore();
    gate.writer.reset();
    char nothing;
    receive(gate.reader, nothing);
    execvpe(arguments[0], arguments.data(), variables.data());
    const int error = errno;
    (void)!write(failure.writer.get(), &error, sizeof error);
    _exit(kNotFound);
  }
  failure.writer.reset();
  call_before_exec(options, pid);
  gate.writer.reset();
  int error = 0;
  if (receive(failure.reader, error)) {
    waitpid(pid, nullptr, 0);
    refuse(options.command[0], error);
  }
  LaunchedProgram program{pid, FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)))};
  if (!program.pidfd) throw Error("following the program: pidfd_open: {}", std::strerror(errno));
  return program;
}

ProgramEnd wait_for(const LaunchedProgram& program) {
  int status = 0;
  rusage usage{};
  while (wait4(program.pid, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  ProgramEnd end{};
  if (WIFSIGNALED(status)) {
    end.exit.signal = WTERMSIG(status);
  } else {
    end.exit.status = WEXITSTATUS(status);
  }
  end.user_cpu_ns = nanoseconds(usage.ru_utime);
  end.system_cpu_ns = nanoseconds(usage.ru_stime);
  return end;
}

int exit_like(const ExitState& exit) {
  if (!exit.signal) return exit.status.value_or(0);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  signal(*exit.signal, SIG_DFL);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, *exit.signal);
  sigprocmask(SIG_UNBLOCK, &only, nullptr);
  raise(*exit.signal);
  return 128 + *exit.signal;  // the kernel does not let it end this process
}

}  // namespace sampan::sampler

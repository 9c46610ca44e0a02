#include "sampler/launch/launch.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/error.h"
#include "base/guest.h"
#include "base/sanitizer_runtime.h"
#include "sampler/launch/program.h"
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

std::vector<std::string> own_environment() {
  std::vector<std::string> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    environment.emplace_back(*variable);
  }
  return environment;
}

// A list of LD_PRELOAD without the shims of a sampan that this one runs under.
std::string without_shims(const std::string& list) {
  std::string kept;
  for (size_t begin = 0; begin < list.size();) {
    const size_t end = std::min(list.find_first_of(": ", begin), list.size());
    const std::string entry = list.substr(begin, end - begin);
    if (std::strncmp(file_name(entry.c_str()), "libsampan_", std::strlen("libsampan_")) != 0) {
      kept += list.substr(begin, end + 1 - begin);
    }
    begin = end + 1;
  }
  return kept;
}

// The list `given` of LD_PRELOAD, with the shim in its place.
std::string with_shim(const std::string& given, const LaunchOptions& options) {
  const size_t before = before_shim(given.c_str());
  std::string list = given.substr(0, before);
  if (before == 0) {
    const std::string runtime = runtime_before_shim(find_program(options.command[0]));
    if (!runtime.empty()) list = runtime + kBeforeShim;
  } else if (list.back() != ':' && list.back() != ' ') {
    list += ':';
  }
  list += options.shim;
  return before == given.size() ? list : list + ":" + given.substr(before);
}

// The program's environment, with the variables that load and configure the shim.
std::vector<std::string> environment_for(const LaunchOptions& options) {
  std::vector<std::string> environment =
      options.environment ? *options.environment : own_environment();
  if (options.shim.empty()) return environment;
  constexpr std::string_view kPreload = "LD_PRELOAD=";
  std::string given;
  for (const std::string& variable : environment) {
    if (variable.starts_with(kPreload)) given = without_shims(variable.substr(kPreload.size()));
  }
  std::erase_if(environment, is_ours);
  environment.push_back(std::string(kPreload) + with_shim(given, options));
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

// Both ends are closed by exec.
struct Pipe {
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw Error("starting the program: {}", std::strerror(errno));
    reader = FileDescriptor(ends[0]);
    writer = FileDescriptor(ends[1]);
  }
  FileDescriptor reader, writer;
};

// Waits for a value, or for the writers to close. Async-signal-safe.
template <typename T>
bool receive(const FileDescriptor& reader, T& value) {
  ssize_t size;
  do size = read(reader.get(), &value, sizeof value);
  while (size < 0 && errno == EINTR);
  return size == static_cast<ssize_t>(sizeof value);
}

void prepare(const LaunchOptions& options, const LaunchedProgram& program) {
  try {
    if (!program.pidfd) throw Error("following the program: pidfd_open: {}", std::strerror(errno));
    if (options.before_exec) options.before_exec(program);
  } catch (...) {
    kill(program.pid, SIGKILL);
    waitpid(program.pid, nullptr, 0);
    throw;
  }
}

uint64_t nanoseconds(const timeval& time) {
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<uint64_t>(time.tv_usec) * 1'000;
}

}  // namespace

SignalRelay::SignalRelay() {
  sigset_t relayed;
  sigemptyset(&relayed);
  for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM}) {
    sigaddset(&relayed, signal);
  }
  sigprocmask(SIG_BLOCK, &relayed, &inherited_mask_);
  // Sampan must survive when the reader of its messages goes away. With SIGCHLD ignored, the
  // program's exit status would be lost.
  struct sigaction action {};
  action.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &action, &inherited_pipe_);
  action.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &action, &inherited_child_);
  fd_ = FileDescriptor(signalfd(-1, &relayed, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd_) {
    restore();
    throw Error("receiving signals: signalfd: {}", std::strerror(errno));
  }
}

SignalRelay::~SignalRelay() {
  restore();
}

void SignalRelay::restore() const {
  sigaction(SIGPIPE, &inherited_pipe_, nullptr);
  sigaction(SIGCHLD, &inherited_child_, nullptr);
  sigprocmask(SIG_SETMASK, &inherited_mask_, nullptr);
}

void SignalRelay::take(int signal, std::function<void()> call) {
  taken_ = signal;
  call_ = std::move(call);
}

void SignalRelay::pass_on(pid_t pid) {
  signalfd_siginfo info{};
  while (read(fd_.get(), &info, sizeof info) == sizeof info) {
    if (static_cast<int>(info.ssi_signo) == taken_) {
      call_();
      continue;
    }
    if (info.ssi_code != SI_KERNEL) kill(pid, static_cast<int>(info.ssi_signo));
  }
}

LaunchedProgram launch(const LaunchOptions& options, const SignalRelay& signals,
                       const OwnLimits& limits) {
  if (options.shim.find_first_of(kEndsOfPreloaded) != std::string::npos) {
    throw Error(
        "{}: the loader cannot preload from a path with spaces or colons, and the cache has no "
        "link to it; install sampan elsewhere",
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
    limits.restore();
    gate.writer.reset();
    char nothing;
    receive(gate.reader, nothing);
    execvpe(arguments[0], arguments.data(), variables.data());
    const int error = errno;
    (void)!write(failure.writer.get(), &error, sizeof error);
    _exit(kNotFound);
  }
  failure.writer.reset();
  LaunchedProgram program{pid, FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)))};
  prepare(options, program);
  gate.writer.reset();
  int error = 0;
  if (receive(failure.reader, error)) {
    waitpid(pid, nullptr, 0);
    refuse(options.command[0], error);
  }
  return program;
}

void become(const LaunchOptions& options) {
  const std::vector<std::string> environment =
      options.environment ? *options.environment : own_environment();
  execvpe(options.command[0].c_str(), pointers_to(options.command).data(),
          pointers_to(environment).data());
  refuse(options.command[0], errno);
}

ProgramEnd wait_for(const LaunchedProgram& program) {
  int status = 0;
  rusage usage{};
  while (wait4(program.pid, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  return {from_wait_status(status), nanoseconds(usage.ru_utime), nanoseconds(usage.ru_stime)};
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

#include "remote/mcp/run_command.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace sampan::mcp {
namespace {

// About 8,000 tokens of a language model in all.
constexpr size_t kHead = 12'000, kTail = 12'000;
// After the signal that asks it to end: a recorder still looks up names. Nobody waits so long for
// an answer that is not wanted any more.
constexpr std::chrono::seconds kGrace{60}, kUnwantedGrace{5};
constexpr std::string_view kMovedOutput = "SAMPAN_OUTPUT=";

struct Pipe {
  FileDescriptor read, write;
};

Pipe make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    throw Error("starting the command: pipe: {}", std::strerror(errno));
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

std::vector<char*> environment() {
  std::vector<char*> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!std::string_view(*variable).starts_with(kMovedOutput)) variables.push_back(*variable);
  }
  variables.push_back(nullptr);
  return variables;
}

// Reads what is there now, and closes `from` at its end.
void read_all(FileDescriptor& from, BoundedText& into) {
  char buffer[1 << 16];
  while (from) {
    const ssize_t size = read(from.get(), buffer, sizeof buffer);
    if (size > 0) {
      into.add({buffer, static_cast<size_t>(size)});
    } else if (size == 0 || errno != EINTR) {
      if (size == 0 || errno != EAGAIN) from.reset();
      return;
    }
  }
}

// The signals that the server takes or ignores are the command's as usual.
class SpawnAttributes {
 public:
  SpawnAttributes() {
    posix_spawnattr_init(&attributes_);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    sigset_t signals;
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes_, &signals);
    sigaddset(&signals, SIGPIPE);
    posix_spawnattr_setsigdefault(&attributes_, &signals);
  }
  ~SpawnAttributes() { posix_spawnattr_destroy(&attributes_); }
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;

  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_;
};

pid_t spawn(const CommandLine& line, int out, int err) {
  std::vector<std::string> words = {"sampan"};
  words.insert(words.end(), line.words.begin(), line.words.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
  pid_t pid = 0;
  const SpawnAttributes attributes;
  const int error = posix_spawn(&pid, "/proc/self/exe", &actions, attributes.get(),
                                arguments.data(), environment().data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw Error("starting the command: {}", std::strerror(error));
  return pid;
}

}  // namespace

void BoundedText::add(std::string_view more) {
  all_ += more.size();
  const size_t to_head = std::min(more.size(), kHead - head_.size());
  head_ += more.substr(0, to_head);
  tail_ += more.substr(to_head);
  if (tail_.size() > 2 * kTail) tail_.erase(0, tail_.size() - kTail);
}

std::string BoundedText::text() const {
  const std::string_view tail =
      std::string_view(tail_).substr(tail_.size() - std::min(kTail, tail_.size()));
  const size_t missing = all_ - head_.size() - tail.size();
  if (missing == 0) return head_ + std::string(tail);
  return fmt::format("{}\n… {} bytes are left out here\n{}", head_, missing, tail);
}

RunningCommand::RunningCommand(const CommandLine& line) {
  Pipe out = make_pipe(), err = make_pipe();
  for (const Pipe* pipe : {&out, &err}) fcntl(pipe->read.get(), F_SETFL, O_NONBLOCK);
  pid_ = spawn(line, out.write.get(), err.write.get());
  end_ = FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
  if (!end_) {
    const int error = errno;
    kill(pid_, SIGTERM);
    wait();
    throw Error("following the command: pidfd_open: {}", std::strerror(error));
  }
  out_ = std::move(out.read);
  err_ = std::move(err.read);
  if (line.longest_s) {
    next_signal_ =
        Clock::now() + std::chrono::milliseconds(static_cast<int64_t>(*line.longest_s * 1000));
  }
}

RunningCommand::~RunningCommand() {
  if (pid_ == 0) return;
  kill(pid_, SIGTERM);
  pollfd end{end_.get(), POLLIN, 0};
  const auto grace = std::chrono::milliseconds(kUnwantedGrace);
  if (poll(&end, 1, static_cast<int>(grace.count())) != 1) kill(pid_, SIGKILL);
  wait();
}

void RunningCommand::read_output() {
  read_all(out_, out_text_);
  read_all(err_, err_text_);
}

int RunningCommand::timeout_ms() const {
  if (next_signal_ == Clock::time_point::max()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(next_signal_ - Clock::now());
  return static_cast<int>(std::clamp<int64_t>(left.count(), 0, 3'600'000));
}

void RunningCommand::end_if_late() {
  if (pid_ == 0 || Clock::now() < next_signal_) return;
  kill(pid_, asked_to_end_ ? SIGKILL : SIGTERM);
  next_signal_ = asked_to_end_ ? Clock::time_point::max() : Clock::now() + kGrace;
  asked_to_end_ = true;
}

int RunningCommand::wait() {
  int status = 0;
  while (pid_ != 0 && waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
  pid_ = 0;
  constexpr int kSignalled = 128;
  return WIFSIGNALED(status) ? kSignalled + WTERMSIG(status) : WEXITSTATUS(status);
}

std::string RunningCommand::text() const {
  const std::string err = err_text_.text();
  return out_text_.text() + (err.empty() ? "" : "\n" + err);
}

}  // namespace sampan::mcp

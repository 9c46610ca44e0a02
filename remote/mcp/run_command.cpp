#include "remote/mcp/run_command.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/start_program.h"

namespace sampan::mcp {
namespace {

// About 8,000 tokens of a language model in all.
constexpr size_t kHead = 12'000, kTail = 12'000;
// After the signal that asks it to end: a recorder still looks up names. Nobody waits so long for
// an answer that is not wanted any more.
constexpr std::chrono::seconds kGrace{60}, kUnwantedGrace{5};

struct Pipe {
  FileDescriptor read, write;
};

Pipe make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    throw Error("starting the command: pipe: {}", std::strerror(errno));
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
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

pid_t start(const std::vector<std::string>& words, int out, int err) {
  std::vector<std::string> all = {"sampan"};
  all.insert(all.end(), words.begin(), words.end());
  return start_program("/proc/self/exe", std::move(all), {out, err});
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
  pid_ = start(line.words, out.write.get(), err.write.get());
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

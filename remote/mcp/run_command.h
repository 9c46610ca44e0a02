// A command of sampan that runs for a call: a process of its own, so that a crash or an endless wait is not the
// server's. Its output is kept up to a limit.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/file_descriptor.h"
#include "remote/mcp/command_line.h"

namespace sampan::mcp {

// The first and the last bytes of a text that may be long: of a program's output, the end matters
// as well.
class BoundedText {
 public:
  void add(std::string_view more);
  // With a line that says how much is missing.
  std::string text() const;

 private:
  std::string head_, tail_;
  size_t all_ = 0;
};

class RunningCommand {
 public:
  using Clock = std::chrono::steady_clock;

  // Throws Error when it cannot be started.
  explicit RunningCommand(const CommandLine& line);
  // Ends the command, if it still runs: by SIGTERM, five seconds later by SIGKILL.
  ~RunningCommand();
  RunningCommand(const RunningCommand&) = delete;
  RunningCommand& operator=(const RunningCommand&) = delete;

  // Descriptors to wait for; -1: it is closed. The last one is readable when the command has ended; what it has
  // started may still have the others.
  int out() const { return out_.get(); }
  int err() const { return err_.get(); }
  int end() const { return end_.get(); }
  // Reads what is there.
  void read_output();

  // How long to wait at most until end_if_late() has something to do, ms; -1: nothing.
  int timeout_ms() const;
  // Ends a command that takes too long: a signal, then after a while one that it cannot ignore.
  void end_if_late();

  // After the end: the exit status as a shell gives it, and what the command has said.
  int wait();
  std::string text() const;

 private:
  pid_t pid_ = 0;
  FileDescriptor out_, err_, end_;
  BoundedText out_text_, err_text_;
  Clock::time_point next_signal_ = Clock::time_point::max();
  bool asked_to_end_ = false;
};

}  // namespace sampan::mcp

// The signals that sampan takes: they stop its sampling, make it write what it has, or end its writing.
#pragma once

#include <signal.h>

#include <array>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <string>

#include "base/event_loop.h"
#include "base/file_descriptor.h"

namespace sampan::cli {

// Blocked signals, as a descriptor. When this object is gone, they do what they did before.
class SignalDescriptor {
 public:
  explicit SignalDescriptor(std::initializer_list<int> signals);  // throws Error
  ~SignalDescriptor();
  SignalDescriptor(const SignalDescriptor&) = delete;
  SignalDescriptor& operator=(const SignalDescriptor&) = delete;

  // Readable when a signal has come.
  int fd() const { return fd_.get(); }
  // Takes the signals that have come. Returns their number.
  size_t take();

 private:
  sigset_t inherited_mask_;
  FileDescriptor fd_;
};

// Ctrl-C, SIGTERM and SIGHUP end the sampling in order. When this object is gone, they end sampan
// itself.
class StopSignals : public SignalDescriptor {
 public:
  StopSignals() : SignalDescriptor({SIGINT, SIGTERM, SIGHUP}) {}

  // Waits for a signal, and takes it; at most `timeout_ms` (-1: for ever). False: none has come.
  bool wait(int timeout_ms = -1);
};

// Calls `flush`, which returns the path of the file, and prints it on stderr.
void flush_and_say(const std::function<std::string()>& flush);

class FlushSignal {
 public:
  // Calls flush_and_say() at each SIGUSR1 until it is destroyed. Throws Error.
  FlushSignal(EventLoop& loop, std::function<std::string()> flush);
  ~FlushSignal();
  FlushSignal(const FlushSignal&) = delete;
  FlushSignal& operator=(const FlushSignal&) = delete;

 private:
  EventLoop& loop_;
  SignalDescriptor signal_{SIGUSR1};
};

// While this object lives, Ctrl-C, SIGTERM, SIGHUP, and a reader that goes away end the writing of
// files with an Error, so that no incomplete file is left. A second Ctrl-C ends sampan at once.
class InterruptibleWriting {
 public:
  InterruptibleWriting();
  ~InterruptibleWriting();
  InterruptibleWriting(const InterruptibleWriting&) = delete;
  InterruptibleWriting& operator=(const InterruptibleWriting&) = delete;

 private:
  static constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
  std::array<struct sigaction, kSignals.size()> before_ = {};
};

}  // namespace sampan::cli

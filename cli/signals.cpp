#include "cli/signals.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/say.h"
#include "exporters/output_file.h"

namespace sampan::cli {

SignalDescriptor::SignalDescriptor(std::initializer_list<int> signals) {
  sigset_t blocked;
  sigemptyset(&blocked);
  for (const int signal : signals) sigaddset(&blocked, signal);
  sigprocmask(SIG_BLOCK, &blocked, &inherited_mask_);
  fd_ = FileDescriptor(signalfd(-1, &blocked, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd_) {
    sigprocmask(SIG_SETMASK, &inherited_mask_, nullptr);
    throw Error("receiving signals: signalfd: {}", std::strerror(errno));
  }
}

SignalDescriptor::~SignalDescriptor() {
  sigprocmask(SIG_SETMASK, &inherited_mask_, nullptr);
}

size_t SignalDescriptor::take() {
  size_t count = 0;
  signalfd_siginfo info{};
  while (read(fd(), &info, sizeof info) == sizeof info) ++count;
  return count;
}

bool StopSignals::wait(int timeout_ms) {
  pollfd waited{fd(), POLLIN, 0};
  int ready = 0;
  do {
    ready = poll(&waited, 1, timeout_ms);
  } while (ready < 0 && errno == EINTR);
  if (ready > 0) take();
  return ready > 0;
}

void flush_and_say(const std::function<std::string()>& flush) {
  try {
    say("sampan: what was recorded so far is in {}\n", flush());
  } catch (const std::exception& error) {
    say("sampan: {}\n", error.what());
  }
}

FlushSignal::FlushSignal(EventLoop& loop, std::function<std::string()> flush) : loop_(loop) {
  loop_.watch(signal_.fd(), [this, flush = std::move(flush)] {
    for (size_t left = signal_.take(); left > 0; --left) flush_and_say(flush);
  });
}

// A signal that comes later, while results are written, is ignored.
FlushSignal::~FlushSignal() {
  loop_.forget(signal_.fd());
  signal(SIGUSR1, SIG_IGN);
}

InterruptibleWriting::InterruptibleWriting() {
  for (size_t i = 0; i < kSignals.size(); ++i) {
    struct sigaction action = {};
    if (kSignals[i] == SIGPIPE) {
      action.sa_handler = SIG_IGN;  // write() returns EPIPE instead
    } else {
      action.sa_handler = [](int) { exporters::interrupt_writing(); };
      // Without SA_RESTART: blocking calls return.
      action.sa_flags = static_cast<int>(SA_RESETHAND);
    }
    sigaction(kSignals[i], &action, &before_[i]);
    // A signal that was ignored when sampan started (nohup) stays ignored.
    if (before_[i].sa_handler == SIG_IGN) sigaction(kSignals[i], &before_[i], nullptr);
  }
}

InterruptibleWriting::~InterruptibleWriting() {
  for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
}

}  // namespace sampan::cli

#include "cli/flush_signal.h"

#include <fmt/core.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/error.h"

namespace sampan::cli {

void flush_and_say(const std::function<std::string()>& flush) {
  try {
    fmt::print(stderr, "sampan: what was recorded so far is in {}\n", flush());
  } catch (const std::exception& error) {
    fmt::print(stderr, "sampan: {}\n", error.what());
  }
}

FlushSignal::FlushSignal(sampler::EventLoop& loop, std::function<std::string()> flush)
    : loop_(loop) {
  sigset_t ours;
  sigemptyset(&ours);
  sigaddset(&ours, SIGUSR1);
  sigprocmask(SIG_BLOCK, &ours, &inherited_mask_);
  fd_ = sampler::FileDescriptor(signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd_) {
    sigprocmask(SIG_SETMASK, &inherited_mask_, nullptr);
    throw Error("receiving signals: signalfd: {}", std::strerror(errno));
  }
  loop_.watch(fd_.get(), [this, flush = std::move(flush)] {
    signalfd_siginfo info{};
    while (read(fd_.get(), &info, sizeof info) == sizeof info) flush_and_say(flush);
  });
}

// One that comes later, while results are written, is nobody's.
FlushSignal::~FlushSignal() {
  loop_.forget(fd_.get());
  signal(SIGUSR1, SIG_IGN);
  sigprocmask(SIG_SETMASK, &inherited_mask_, nullptr);
}

}  // namespace sampan::cli

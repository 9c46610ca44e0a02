#include "cli/stop_signals.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace sampan::cli {

StopSignals::StopSignals() {
  sigset_t stopping;
  sigemptyset(&stopping);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&stopping, signal);
  sigprocmask(SIG_BLOCK, &stopping, &inherited_mask_);
  fd_ = sampler::FileDescriptor(signalfd(-1, &stopping, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd_) {
    sigprocmask(SIG_SETMASK, &inherited_mask_, nullptr);
    throw Error("receiving signals: signalfd: {}", std::strerror(errno));
  }
}

StopSignals::~StopSignals() {
  sigprocmask(SIG_SETMASK, &inherited_mask_, nullptr);
}

bool StopSignals::wait(int timeout_ms) {
  pollfd waited{fd_.get(), POLLIN, 0};
  int ready = 0;
  do {
    ready = poll(&waited, 1, timeout_ms);
  } while (ready < 0 && errno == EINTR);
  if (ready > 0) take();
  return ready > 0;
}

void StopSignals::take() {
  signalfd_siginfo info{};
  while (read(fd_.get(), &info, sizeof info) == sizeof info) {
  }
}

}  // namespace sampan::cli

#include "sampler/signal_relay.h"

#include <sys/signalfd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace sampan::sampler {

SignalRelay::SignalRelay() {
  sigset_t relayed;
  sigemptyset(&relayed);
  for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM}) {
    sigaddset(&relayed, signal);
  }
  sigprocmask(SIG_BLOCK, &relayed, &inherited_mask_);
  // A reader of our messages that has gone must not end us; an ignored SIGCHLD would make the
  // program's exit status disappear.
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

}  // namespace sampan::sampler

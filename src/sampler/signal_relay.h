// The signals of a launcher: what somebody sends to sampan is meant for the program that it runs.
//
// What the terminal sends (Ctrl-C, hang-up) goes to the whole process group, so the program has it
// already; what `kill` sends to sampan alone is passed on. Stopping and continuing are left alone:
// they work on both of themselves.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <functional>

#include "sampler/file_descriptor.h"

namespace sampan::sampler {

class SignalRelay {
 public:
  // From now on signals wait to be read. Throws Error.
  SignalRelay();
  ~SignalRelay();  // as it was before
  SignalRelay(const SignalRelay&) = delete;
  SignalRelay& operator=(const SignalRelay&) = delete;

  // In the forked child, before exec: as sampan itself was started. Async-signal-safe.
  void restore() const;

  // From now on this one is ours: it is not passed on, `call` is called instead.
  void take(int signal, std::function<void()> call);

  int fd() const { return fd_.get(); }
  // Sends what has come to `pid`, which must not have been waited for.
  void pass_on(pid_t pid);

 private:
  sigset_t inherited_mask_;
  struct sigaction inherited_pipe_, inherited_child_;
  FileDescriptor fd_;
  int taken_ = 0;
  std::function<void()> call_;
};

}  // namespace sampan::sampler

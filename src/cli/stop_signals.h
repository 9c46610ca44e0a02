// Ctrl-C and its kin as a descriptor: they end the sampling in order. Once this object has gone
// they end sampan itself.
#pragma once

#include <signal.h>

#include "sampler/file_descriptor.h"

namespace sampan::cli {

class StopSignals {
 public:
  StopSignals();  // throws Error
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Readable when one has come.
  int fd() const { return fd_.get(); }
  // Until one comes, which is taken, or so many milliseconds have passed; -1: for ever. False: none
  // has come.
  bool wait(int timeout_ms = -1);
  // Takes what has come: the next one is another wish.
  void take();

 private:
  sigset_t inherited_mask_;
  sampler::FileDescriptor fd_;
};

}  // namespace sampan::cli

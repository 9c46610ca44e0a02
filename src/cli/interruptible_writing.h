// While it lives, Ctrl-C, SIGTERM, SIGHUP and a reader that goes away end the writing of files with
// an Error, so that nothing half is left; a second Ctrl-C ends sampan at once.
#pragma once

#include <signal.h>

#include <array>

namespace sampan::cli {

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

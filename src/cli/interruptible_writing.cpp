#include "cli/interruptible_writing.h"

#include "exporters/output_file.h"

namespace sampan::cli {

InterruptibleWriting::InterruptibleWriting() {
  for (size_t i = 0; i < kSignals.size(); ++i) {
    struct sigaction action = {};
    if (kSignals[i] == SIGPIPE) {
      action.sa_handler = SIG_IGN;  // write() says EPIPE instead
    } else {
      action.sa_handler = [](int) { exporters::interrupt_writing(); };
      action.sa_flags = static_cast<int>(SA_RESETHAND);  // and calls that block return
    }
    sigaction(kSignals[i], &action, &before_[i]);
    // As nohup does: who ignores a signal wants it ignored.
    if (before_[i].sa_handler == SIG_IGN) sigaction(kSignals[i], &before_[i], nullptr);
  }
}

InterruptibleWriting::~InterruptibleWriting() {
  for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
}

}  // namespace sampan::cli

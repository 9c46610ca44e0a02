#include "sampler/process/own_limits.h"

namespace sampan::sampler {

OwnLimits::OwnLimits() {
  for (size_t i = 0; i < kRaised.size(); ++i) {
    getrlimit(kRaised[i], &before_[i]);
    const rlimit raised{before_[i].rlim_max, before_[i].rlim_max};
    setrlimit(kRaised[i], &raised);
  }
  struct sigaction action {};
  action.sa_handler = SIG_IGN;
  sigaction(SIGXFSZ, &action, &file_too_large_);
}

void OwnLimits::restore() const {
  for (size_t i = 0; i < kRaised.size(); ++i) setrlimit(kRaised[i], &before_[i]);
  sigaction(SIGXFSZ, &file_too_large_, nullptr);
}

}  // namespace sampan::sampler

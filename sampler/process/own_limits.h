// What sampan itself runs with, and the programs that it starts do not: limits as high as this process may set them, and
// an error where a file would be too large, not a signal (RLIMIT_FSIZE, SIGXFSZ).
#pragma once

#include <signal.h>
#include <sys/resource.h>

#include <array>

namespace sampan::sampler {

class OwnLimits {
 public:
  OwnLimits();
  ~OwnLimits() { restore(); }
  OwnLimits(const OwnLimits&) = delete;
  OwnLimits& operator=(const OwnLimits&) = delete;

  // As sampan found them. For a forked child before exec: async-signal-safe.
  void restore() const;

 private:
  // Each recorded process takes descriptors and address space.
  static constexpr std::array kRaised = {RLIMIT_NOFILE, RLIMIT_FSIZE, RLIMIT_AS};
  std::array<rlimit, kRaised.size()> before_;
  struct sigaction file_too_large_;
};

}  // namespace sampan::sampler

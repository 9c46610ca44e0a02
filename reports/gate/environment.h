// The machine that runs were measured on. Figures of different machines cannot be compared, so differences are printed
// before the verdicts.
#pragma once

#include <string>
#include <vector>

namespace sampan::reports {

struct Environment {
  std::string processor;  // "AMD EPYC 7B13"; "": not known, as the next ones
  unsigned cpus = 0;      // that this process may use
  std::string kernel;     // uname -r
  std::string governor;   // of the first CPU's frequency
  double load = 0;        // of the last minute: processes that ran or waited for a CPU
  double stolen =
      0;  // 0 to 1: the time that the hypervisor gave to others, of the CPU used since boot
};

Environment environment_now();

// A sentence for each difference that changes figures: "the baseline is of another processor: …".
std::vector<std::string> differences(const Environment& before, const Environment& now);

}  // namespace sampan::reports

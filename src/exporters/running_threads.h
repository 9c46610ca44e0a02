// How many threads of a process were on CPU, over time: the mean of each of equal steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "profile/view.h"

namespace sampan::exporters {

struct RunningThreads {
  uint64_t begin_ns = 0;  // of the first step
  uint64_t step_ns = 0;   // 0: there are no samples
  // By process of the profile; empty for those without samples on CPU.
  std::vector<std::vector<double>> by_process;
};

// At most `most_steps` in all of its processes together; none where that would be too few for each.
RunningThreads running_threads(const profile::View& view, size_t most_steps);

}  // namespace sampan::exporters

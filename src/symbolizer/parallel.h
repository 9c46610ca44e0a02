// Runs jobs on some threads, while the calling thread looks after the person who waits.
#pragma once

#include <functional>
#include <vector>

namespace sampan::symbolizer {

// Returns when all jobs are done; they must not throw. `tick`, which may be empty, is called from
// the calling thread at most ten times a second. With one thread the caller runs the jobs itself.
void run_parallel(const std::vector<std::function<void()>>& jobs, unsigned threads,
                  const std::function<void()>& tick);

}  // namespace sampan::symbolizer
